//go:build unix

package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A process is one that /proc shows. Where there is no /proc none is seen.
type process struct {
	pid, parent, group int
	state, command     string
}

func (p process) String() string {
	return fmt.Sprintf("%d (parent %d, group %d, %s: %s)", p.pid, p.parent, p.group, p.state, p.command)
}

// marked are the processes whose home is the given folder, which is how those
// that a bridge started are known: even orphans with a session of their own.
func marked(home string) []process {
	mark := []byte("\x00HOME=" + home + "\x00")
	var found []process
	for _, p := range processes() {
		env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "environ"))
		if err == nil && bytes.Contains(append([]byte{0}, env...), mark) {
			found = append(found, p)
		}
	}
	return found
}

// children are those of one process, zombies included.
func children(pid int) []process {
	var found []process
	for _, p := range processes() {
		if p.parent == pid {
			found = append(found, p)
		}
	}
	return found
}

// alive reports whether there is such a process, be it as a zombie.
func alive(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// needsProc skips a test that has to see processes where there is no /proc.
func needsProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skipf("processes can't be seen here: %v", err)
	}
}

func processes() []process {
	entries, _ := os.ReadDir("/proc")
	var all []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it has just ended
		}
		// The name stands in parentheses and may hold any character.
		open, closing := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		fields := strings.Fields(string(stat[closing+1:]))
		if open < 0 || len(fields) < 3 {
			continue
		}
		p := process{pid: pid, state: fields[0], command: string(stat[open+1 : closing])}
		p.parent, _ = strconv.Atoi(fields[1])
		p.group, _ = strconv.Atoi(fields[2])
		all = append(all, p)
	}
	return all
}

// residentBytes is how much memory a process has had at most; 0 where unknown.
func residentBytes(pid int) int64 {
	status, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}

// commandLine is that of a process, with spaces between its words.
func commandLine(pid int) string {
	b, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return strings.TrimSpace(string(bytes.ReplaceAll(b, []byte{0}, []byte{' '})))
}
