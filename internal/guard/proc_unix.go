//go:build unix

package guard

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const supported = true

// spawn starts the guard process: in a session of its own, out of reach of what
// is sent to the bridge's group or terminal, with nothing of the bridge but the
// pipe.
func spawn(o Options, r *os.File) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	// A plain blocking read is all the guard does.
	if err := syscall.SetNonblock(int(r.Fd()), false); err != nil {
		return nil, err
	}
	env := o.Env
	if env == nil {
		env = []string{}
	}
	return os.StartProcess(o.Exe, append([]string{filepath.Base(o.Exe)}, o.Args...), &os.ProcAttr{
		Dir: "/", Env: env, Files: []*os.File{r, null, null},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

func (t target) end(force bool) {
	s := syscall.SIGTERM
	if force {
		s = syscall.SIGKILL
	}
	_ = syscall.Kill(t.id, s)
}

func inode(f *os.File) uint64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}

// remaining lists what is left of the entries: their groups, and whoever holds
// their pipes outside of these.
func remaining(entries map[uint64]entry, bridge int) []target {
	var left []target
	groups := map[int]bool{}
	pipes := map[string]bool{}
	for _, e := range entries {
		for _, inode := range e.pipes {
			if inode != 0 {
				pipes["pipe:["+strconv.FormatUint(inode, 10)+"]"] = true
			}
		}
		if e.pgid > 1 && groupLives(e) {
			groups[e.pgid] = true
			left = append(left, target{-e.pgid})
		}
	}
	if len(pipes) == 0 {
		return left
	}
	for _, pid := range processes() {
		if pid == os.Getpid() || pid == bridge || !holds(pid, pipes) {
			continue
		}
		if st, ok := readStat(pid); ok && !groups[st.pgid] && st.live() {
			left = append(left, target{pid})
		}
	}
	return left
}

// groupLives reports whether a group is still the one that was registered, and
// has a member that is no zombie.
func groupLives(e entry) bool {
	if syscall.Kill(-e.pgid, 0) == syscall.ESRCH {
		return false
	}
	all := processes()
	if all == nil {
		return true // no /proc
	}
	// As long as a group has members its number is given to no process. So if the
	// leader has gone and members are left, they are the old ones.
	if leader, ok := readStat(e.pgid); ok && e.start != 0 && leader.start != e.start {
		return false
	}
	for _, pid := range all {
		if st, ok := readStat(pid); ok && st.pgid == e.pgid && st.live() {
			return true
		}
	}
	return false
}

// processes lists all process ids; nil without /proc.
func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// holds reports whether one of the descriptors, at whatever number, is one of the
// pipes.
func holds(pid int, pipes map[string]bool) bool {
	fds := "/proc/" + strconv.Itoa(pid) + "/fd"
	dir, err := os.Open(fds)
	if err != nil {
		return false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if l, err := os.Readlink(fds + "/" + name); err == nil && pipes[l] {
			return true
		}
	}
	return false
}

type stat struct {
	state string
	pgid  int
	start uint64
}

// live is false for what only waits to be reaped.
func (s stat) live() bool { return s.state != "Z" && s.state != "X" }

// readStat reads what proc_pid_stat(5) numbers 3, 5 and 22.
func readStat(pid int) (s stat, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, false
	}
	// The second field is a name in parentheses and may hold anything.
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 20 {
		return s, false
	}
	s.state = f[0]
	s.pgid, _ = strconv.Atoi(f[2])
	s.start, _ = strconv.ParseUint(f[19], 10, 64)
	return s, true
}

func startTime(pid int) uint64 {
	s, _ := readStat(pid)
	return s.start
}
