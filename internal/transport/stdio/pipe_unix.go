//go:build unix

package stdio

import (
	"os"
	"syscall"
)

// A pipe is the Outlet of a file that does not block, such as our end of os.Pipe.
type pipe struct {
	file *os.File
	raw  syscall.RawConn
	fd   int
	step func(write func([]byte) (int, error)) bool
	// Made once, so that a Run allocates nothing.
	run   func(fd uintptr) bool
	write func([]byte) (int, error)
}

// NewOutlet returns the Outlet of f.
func NewOutlet(f *os.File) (Outlet, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	p := &pipe{file: f, raw: raw}
	p.run = func(fd uintptr) bool {
		p.fd = int(fd)
		return p.step(p.write)
	}
	p.write = func(b []byte) (int, error) {
		for {
			n, err := syscall.Write(p.fd, b)
			switch err {
			case nil:
				return n, nil
			case syscall.EINTR:
			case syscall.EAGAIN:
				return 0, nil
			default:
				return 0, os.NewSyscallError("write", err)
			}
		}
	}
	return p, nil
}

func (p *pipe) Run(step func(func([]byte) (int, error)) bool) error {
	p.step = step
	return p.raw.Write(p.run)
}

func (p *pipe) Close() error { return p.file.Close() }
