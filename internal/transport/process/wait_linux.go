package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// await waits until the child has ended, signals the rest of its group and reaps
// it. Until then the child is a zombie, and nobody else can get its number.
func (p *Process) await() (*os.ProcessState, error) {
	for {
		err := unix.Waitid(unix.P_PID, p.proc.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	signalGroup(p.proc, terminate)
	p.reaped = true
	return p.proc.Wait()
}
