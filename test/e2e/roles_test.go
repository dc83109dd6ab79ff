//go:build unix

package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// A message is a JSON-RPC message from the bridge.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name    string          `json:"name"`
		Version string          `json:"protocolVersion"`
		Request json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// roleEnv is the entry of a server that is this test binary in a role.
func roleEnv(role string, more ...string) string {
	env := fmt.Sprintf("%s: %q", roleVariable, role)
	for _, m := range more {
		name, value, _ := strings.Cut(m, "=")
		env += fmt.Sprintf(", %s: %q", name, value)
	}
	return fmt.Sprintf("    command: %q\n    env: {%s}\n", os.Args[0], env)
}

// common answers what every server of the tests answers in the same way; empty:
// it is not one of those.
func common(m *message) string {
	reply := func(kind, body string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, m.ID, kind, body)
	}
	switch m.Method {
	case "initialize":
		return reply("result", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"1"}}`, m.Params.Version))
	case "tools/list":
		return reply("result", `{"tools":[{"name":"ok","inputSchema":{"type":"object"}}]}`)
	case "server/discover":
		return reply("error", `{"code":-32601,"message":"Method not found"}`)
	}
	return ""
}

const okResult = `{"content":[{"type":"text","text":"fine"}]}`

// scriptedStdio is a server whose tools are failures. What it is told besides
// goes to the file SEEN, a method a line.
func scriptedStdio() int {
	if s := os.Getenv("START"); s != "" {
		return strangeStart(s)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		m := &message{}
		if json.Unmarshal(in.Bytes(), m) != nil {
			continue
		}
		record(m.Method)
		if answer := common(m); answer != "" {
			fmt.Println(answer)
		} else if m.Method == "tools/call" {
			if status := scriptedTool(m); status >= 0 {
				return status
			}
		}
	}
	return 0
}

func record(line string) {
	if file := os.Getenv("SEEN"); file != "" {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, _ = fmt.Fprintln(f, line)
			_ = f.Close()
		}
	}
}

// scriptedTool is one call; a status of 0 or more ends the process.
func scriptedTool(m *message) int {
	switch m.Params.Name {
	case "noise":
		fmt.Printf("not a message\n{\"level\":\"info\"}\n{broken\n\xff\xfe\n")
		fallthrough
	case "ok":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, okResult)
	case "badjson":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[oops`+"\n", m.ID)
	case "badresult":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":42}`+"\n", m.ID)
	case "rpcerror":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"broken inside"}}`+"\n", m.ID)
	case "end":
		fmt.Fprintln(os.Stderr, "out of memory")
		return 7
	}
	return -1 // "silent" among them
}

// strangeStart is a server that does not get as far as being one.
func strangeStart(how string) int {
	switch how {
	case "exit":
		fmt.Fprintln(os.Stderr, "cannot open the database")
		return 9
	case "nonsense":
		out := bufio.NewWriter(os.Stdout)
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			_, _ = out.WriteString("<html>hello</html>\n[1,2\n{\"a\":1}\n")
			_ = out.Flush()
		}
	case "flood":
		line := []byte(strings.Repeat("x", 1<<16))
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				return 1
			}
		}
	case "silent":
		in := bufio.NewScanner(os.Stdin)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
		}
	}
	return 0
}

// gusher is a server with a tool whose result is a line of 1 GiB.
func gusher() int {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		m := &message{}
		if json.Unmarshal(in.Bytes(), m) != nil {
			continue
		}
		switch answer := common(m); {
		case answer != "":
			fmt.Println(answer)
		case m.Params.Name == "gibibyte":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
			piece := []byte(strings.Repeat("x", 1<<20))
			for range 1 << 10 {
				if _, err := os.Stdout.Write(piece); err != nil {
					return 1
				}
			}
			fmt.Print("\"}]}}\n")
		case m.Method == "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, okResult)
		}
	}
	return 0
}

// deafServer is a server that ignores its input's end and all polite signals,
// and so does its child, which has left for a session of its own.
func deafServer() int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	if os.Getenv("GRANDCHILD") != "" {
		return forever()
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "GRANDCHILD=1")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		return 1
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		m := &message{}
		if json.Unmarshal(in.Bytes(), m) != nil {
			continue
		}
		if answer := common(m); answer != "" {
			fmt.Println(answer)
		} else if m.Method == "tools/call" && m.Params.Name == "ok" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, okResult)
		}
	}
	return forever()
}

// forever outlives any test.
func forever() int {
	<-time.After(time.Hour)
	return 1
}
