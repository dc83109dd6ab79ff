package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// growPipe asks for a pipe of 1 MiB, the most that is given to everybody.
func growPipe(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20)
		})
	}
}
