//go:build !unix

package process

import (
	"os"
	"syscall"
)

type signal int

const (
	terminate signal = iota
	kill
)

func ownGroup() *syscall.SysProcAttr { return nil }

// signalGroup ends the child itself: there is no group, and no gentle way.
func signalGroup(p *os.Process, _ signal) { _ = p.Kill() }

func groupLives(int) bool { return false }

func (p *pipes) blockTheirs() error { return nil }
