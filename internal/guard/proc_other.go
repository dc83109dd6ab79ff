//go:build !unix

package guard

import (
	"errors"
	"os"
)

// There are no process groups here: a guard has nothing to end.
const supported = false

func spawn(Options, *os.File) (*os.Process, error) {
	return nil, errors.New("guard: not supported on this system")
}

func (target) end(bool) {}

func inode(*os.File) uint64 { return 0 }

func remaining(map[uint64]entry, int) []target { return nil }

func startTime(int) uint64 { return 0 }
