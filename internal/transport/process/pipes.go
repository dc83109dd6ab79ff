package process

import "os"

// pipes are the three pipes of a child.
type pipes struct {
	stdin, stdout, stderr *os.File    // our ends
	theirs                [3]*os.File // the child's
}

func newPipes() (*pipes, error) {
	p := new(pipes)
	var err error
	if p.theirs[0], p.stdin, err = os.Pipe(); err == nil {
		if p.stdout, p.theirs[1], err = os.Pipe(); err == nil {
			p.stderr, p.theirs[2], err = os.Pipe()
		}
	}
	if err == nil {
		err = p.blockTheirs()
	}
	if err != nil {
		p.closeOurs()
		p.closeTheirs()
		return nil, err
	}
	return p, nil
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		_ = f.Close() // a nil *os.File only says so
	}
}

func (p *pipes) closeOurs() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		_ = f.Close()
	}
}
