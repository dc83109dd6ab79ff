package process

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// A StartError tells people why a child did not start. It names the command but
// neither arguments nor environment, which may hold secrets.
type StartError struct {
	Command string
	Reason  string
	Err     error // what the system said
}

func (e *StartError) Error() string {
	return fmt.Sprintf("cannot start %q: %s", e.Command, e.Reason)
}

func (e *StartError) Unwrap() error { return e.Err }

// diagnose finds out what the system meant by err, which is one word for several
// things: ENOENT may be about the program, its interpreter or the directory.
func diagnose(o Options, path string, err error) error {
	e := &StartError{Command: o.Path, Err: err}
	if e.Reason = dirReason(o.Dir); e.Reason != "" {
		return e
	}
	if path != "" && !filepath.IsAbs(path) && o.Dir != "" {
		path = filepath.Join(o.Dir, path)
	}
	e.Reason = reason(path, err)
	return e
}

// dirReason says what is wrong with the working directory.
func dirReason(dir string) string {
	if dir == "" {
		return ""
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("working directory %q does not exist", dir)
	case err != nil:
		return fmt.Sprintf("working directory: %v", err)
	case !info.IsDir():
		return fmt.Sprintf("working directory %q is not a directory", dir)
	}
	return ""
}

func reason(path string, err error) string {
	switch {
	case errors.Is(err, errNotInPath):
		return err.Error()
	case errors.Is(err, syscall.E2BIG):
		return "arguments and environment are too long"
	case errors.Is(err, syscall.EINVAL):
		return "arguments or environment hold a NUL byte"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many open files"
	case errors.Is(err, fs.ErrNotExist):
		return missing(path)
	case errors.Is(err, fs.ErrPermission):
		return denied(path, err)
	case errors.Is(err, syscall.ENOEXEC):
		return foreign(path)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

func denied(path string, err error) string {
	var pe *fs.PathError
	if path == "" && errors.As(err, &pe) { // found in PATH, but not executable
		path = pe.Path
	}
	info, serr := os.Stat(path)
	switch {
	case serr != nil:
		return "permission denied"
	case info.IsDir():
		return fmt.Sprintf("%q is a directory", path)
	case info.Mode()&0o111 == 0:
		return fmt.Sprintf("%q has no execute permission", path)
	}
	if in := interpreter(path); in != "" {
		if _, err := os.Stat(in); err == nil {
			return fmt.Sprintf("permission denied for %q or its interpreter %q", path, in)
		}
	}
	return fmt.Sprintf("permission denied for %q (mode %v, or a file system without exec)", path, info.Mode())
}

// missing says what does not exist: the program, or what it needs to run.
func missing(path string) string {
	if _, err := os.Stat(path); err != nil {
		return fmt.Sprintf("%q does not exist", path)
	}
	if in := interpreter(path); in != "" {
		return fmt.Sprintf("%q needs %q, which does not exist", path, in)
	}
	return fmt.Sprintf("something that %q needs does not exist", path)
}

// foreign says why an existing executable file is none for this machine.
func foreign(path string) string {
	head := make([]byte, 20)
	f, err := os.Open(path)
	if err == nil {
		_, err = io.ReadFull(f, head)
		_ = f.Close()
	}
	if err != nil || !bytes.HasPrefix(head, []byte(elf.ELFMAG)) {
		return fmt.Sprintf("%q is no program: neither a binary of this system nor a script with #!", path)
	}
	machine := binary.LittleEndian.Uint16(head[18:])
	if head[elf.EI_DATA] == byte(elf.ELFDATA2MSB) {
		machine = binary.BigEndian.Uint16(head[18:])
	}
	return fmt.Sprintf("%q is a program for %v, this machine is %s",
		path, strings.TrimPrefix(elf.Machine(machine).String(), "EM_"), runtime.GOARCH)
}

// interpreter returns what runs the file: the word after #! or the loader that
// an ELF binary names. Empty: none.
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	if line, ok := bytes.CutPrefix(head[:n], []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte{'\n'})
		word, _, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		return word
	}
	b, err := elf.NewFile(f)
	if err != nil {
		return ""
	}
	for _, prog := range b.Progs {
		if prog.Type == elf.PT_INTERP && prog.Filesz < 4096 {
			name, _ := io.ReadAll(prog.Open())
			return strings.TrimRight(string(name), "\x00")
		}
	}
	return ""
}
