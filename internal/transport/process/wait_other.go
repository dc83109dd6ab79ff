//go:build !linux

package process

import "os"

// await waits until the child has ended and signals the rest of its group, which
// keeps the number from being given to others if there is a rest.
func (p *Process) await() (*os.ProcessState, error) {
	state, err := p.proc.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	signalGroup(p.proc, terminate)
	return state, err
}
