//go:build !unix

package stdio

import "os"

// A pipe is the Outlet of a file where there is no write that does not wait.
type pipe struct{ file *os.File }

// NewOutlet returns the Outlet of f.
func NewOutlet(f *os.File) (Outlet, error) { return pipe{f}, nil }

func (p pipe) Run(step func(func([]byte) (int, error)) bool) error {
	for !step(p.file.Write) {
	}
	return nil
}

func (p pipe) Close() error { return p.file.Close() }
