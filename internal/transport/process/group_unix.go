//go:build unix

package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

type signal = syscall.Signal

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// signalGroup signals all of the group of p.
func signalGroup(p *os.Process, s signal) { _ = syscall.Kill(-p.Pid, s) }

// groupLives reports whether the group has members that run. Where orphans become
// our children (as process 1 of a container, as a subreaper) it reaps those of
// the group; where they become init's, it does not wait for init to do so.
func groupLives(pgid int) bool {
	for {
		pid, err := syscall.Wait4(-pgid, nil, syscall.WNOHANG, nil)
		if err == syscall.EINTR || pid > 0 {
			continue
		}
		break
	}
	return syscall.Kill(-pgid, 0) != syscall.ESRCH && !onlyZombies(pgid)
}

// onlyZombies reports whether /proc shows no member of the group that is not
// merely waiting to be reaped; false where there is no /proc.
func onlyZombies(pgid int) bool {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return false
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// pid (comm) state ppid pgrp …; comm may hold anything (proc_pid_stat(5)).
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(f) > 2 && f[2] == strconv.Itoa(pgid) && f[0] != "Z" && f[0] != "X" {
			return false
		}
	}
	return true
}

// blockTheirs makes the child's ends wait, as programs expect of standard input
// and output. The mode belongs to the pipe's end, not to the process.
func (p *pipes) blockTheirs() error {
	for _, f := range p.theirs {
		if err := syscall.SetNonblock(int(f.Fd()), false); err != nil {
			return err
		}
	}
	return nil
}
