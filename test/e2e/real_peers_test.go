//go:build unix

package e2e_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A peer is a real server on one of its transports.
type peer struct {
	name, protocol string
	version        string // the protocol revision that must come of it; empty: any
	start          func(t *testing.T, peers, scratch string) (entry string)
	calls          []peerCall
	slowTool       string // empty: it has none
	short, long    string // arguments of slowTool
	counts         bool   // the tool "cancellations" counts those of slowTool
	notifies       bool   // the tool "notify" changes the list of tools
}

// A peerCall is a call that must succeed. CLIENT stands for the kind of client.
type peerCall struct{ tool, args, says string }

const modernVersion = "2026-07-28"

func peers() []peer {
	everything := peer{calls: everythingCalls, slowTool: "trigger-long-running-operation", short: `{"duration":0.3,"steps":3}`, long: `{"duration":20,"steps":100}`}
	all := []peer{
		everything.as("everything/stdio", "", "", inNode("server-everything", "stdio")),
		everything.as("everything/http", "", "", overPort("/mcp", "", inNode("server-everything", "streamableHttp"))),
		everything.as("everything/sse", "", "", overPort("/sse", "sse", inNode("server-everything", "sse"))),
		{name: "filesystem/stdio", start: inNode("server-filesystem", "SCRATCH"), calls: filesystemCalls},
		{name: "memory/stdio", start: inNode("server-memory"), calls: memoryCalls},
	}
	sdk := peer{calls: sdkCalls, slowTool: "slow", short: `{"seconds":0.3}`, long: `{"seconds":20}`, counts: true, notifies: true}
	for name, command := range map[string]command{
		"python-sdk": inPython("mcp_server.py"), "fastmcp": inPython("fastmcp_server.py"), "go-sdk": goSDK,
	} {
		for era, version := range map[string]string{"legacy": "", "modern": modernVersion} {
			how := "http"
			if name == "go-sdk" && era == "modern" {
				how = "stateless" // otherwise it refuses the newest revision
			}
			all = append(all,
				sdk.as(name+"/stdio/"+era, era, version, entryOf(command, "stdio")),
				sdk.as(name+"/http/"+era, era, version, overPort("/mcp", "", entryOf(command, how, "PORT"))))
		}
		all = append(all, sdk.as(name+"/sse", "", "", overPort("/sse", "sse", entryOf(command, "sse", "PORT"))))
	}
	return all
}

func (p peer) as(name, protocol, version string, start func(*testing.T, string, string) string) peer {
	p.name, p.protocol, p.version, p.start = name, protocol, version, start
	return p
}

var everythingCalls = []peerCall{
	{"echo", `{"message":"hé"}`, "Echo: hé"},
	{"get-annotated-message", `{"messageType":"error","includeImage":true}`, "priority:1"},
	{"get-env", `{}`, "PATH"},
	{"get-resource-links", `{"count":2}`, "resource_link"},
	{"get-resource-reference", `{"resourceType":"Blob","resourceId":2}`, "resource:"},
	{"get-structured-content", `{"location":"Chicago"}`, `"temperature":`},
	{"get-sum", `{"a":2,"b":3}`, "5"},
	{"get-tiny-image", `{}`, "image/png"},
	{"gzip-file-as-resource", `{"name":"a.gz","data":"data:text/plain,hello","outputType":"resource"}`, "a.gz"},
	{"toggle-simulated-logging", `{}`, "logging"},
	{"toggle-subscriber-updates", `{}`, "simulated resource update"},
	{"trigger-long-running-operation", `{"duration":0.1,"steps":1}`, "completed"},
}

var filesystemCalls = []peerCall{
	{"create_directory", `{"path":"CLIENT"}`, "Successfully"},
	{"write_file", `{"path":"CLIENT/a.txt","content":"one\nžluť\n"}`, "Successfully"},
	{"read_file", `{"path":"CLIENT/a.txt"}`, "žluť"},
	{"read_text_file", `{"path":"CLIENT/a.txt","head":1}`, "one"},
	{"read_media_file", `{"path":"CLIENT/a.txt"}`, ""},
	{"read_multiple_files", `{"paths":["CLIENT/a.txt"]}`, "a.txt"},
	{"edit_file", `{"path":"CLIENT/a.txt","edits":[{"oldText":"one","newText":"two"}]}`, "+two"},
	{"list_directory", `{"path":"CLIENT"}`, "[FILE] a.txt"},
	{"list_directory_with_sizes", `{"path":"CLIENT"}`, "a.txt"},
	{"directory_tree", `{"path":"CLIENT"}`, "a.txt"},
	{"move_file", `{"source":"CLIENT/a.txt","destination":"CLIENT/b.txt"}`, "Successfully"},
	{"search_files", `{"path":"CLIENT","pattern":"*.txt"}`, "b.txt"},
	{"get_file_info", `{"path":"CLIENT/b.txt"}`, "size"},
	{"list_allowed_directories", `{}`, "Allowed"},
}

var memoryCalls = []peerCall{
	{"create_entities", `{"entities":[{"name":"CLIENT","entityType":"client","observations":["new"]},{"name":"other","entityType":"client","observations":[]}]}`, "CLIENT"},
	{"create_relations", `{"relations":[{"from":"CLIENT","to":"other","relationType":"knows"}]}`, "knows"},
	{"add_observations", `{"observations":[{"entityName":"CLIENT","contents":["seen"]}]}`, "seen"},
	{"read_graph", `{}`, "CLIENT"},
	{"search_nodes", `{"query":"seen"}`, "CLIENT"},
	{"open_nodes", `{"names":["CLIENT"]}`, "CLIENT"},
	{"delete_observations", `{"deletions":[{"entityName":"CLIENT","observations":["seen"]}]}`, "deleted"},
	{"delete_relations", `{"relations":[{"from":"CLIENT","to":"other","relationType":"knows"}]}`, "deleted"},
	{"delete_entities", `{"entityNames":["CLIENT"]}`, "deleted"},
}

var sdkCalls = []peerCall{
	{"echo", `{"message":"hé \u0000"}`, "hé"},
	{"add", `{"a":2,"b":3}`, `"sum":5`},
	{"slow", `{"seconds":0}`, "done"},
	{"cancellations", `{}`, ""},
	{"notify", `{}`, "sent"},
}

// A command makes the command line of a server that lies in the peers' folder.
type command func(peers, here string) []string

func inPython(script string) command {
	return func(peers, here string) []string {
		return []string{filepath.Join(peers, "venv", "bin", "python"), filepath.Join(here, "..", "peers", "python", script)}
	}
}

func goSDK(peers, _ string) []string { return []string{filepath.Join(peers, "gosdk")} }

// inNode is a server of an npm package.
func inNode(pkg string, args ...string) func(*testing.T, string, string) string {
	return entryOf(func(peers, _ string) []string {
		return []string{"node", filepath.Join(peers, "node_modules", "@modelcontextprotocol", pkg, "dist", "index.js")}
	}, args...)
}

// entryOf is the server as a child of the bridge. SCRATCH stands for a folder of
// its own, where it also runs, and PORT for a port.
func entryOf(c command, args ...string) func(*testing.T, string, string) string {
	return func(t *testing.T, peers, scratch string) string {
		t.Helper()
		here, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		words := append(c(peers, here), args...)
		for i, w := range words {
			words[i] = strconv.Quote(strings.ReplaceAll(w, "SCRATCH", scratch))
		}
		return fmt.Sprintf("    command: %s\n    args: [%s]\n    cwd: %q\n    env: {MEMORY_FILE_PATH: %q}\n",
			words[0], strings.Join(words[1:], ", "), scratch, filepath.Join(scratch, "memory.jsonl"))
	}
}

// overPort starts a server of its own on a free port, and its entry is a URL.
func overPort(path, kind string, entry func(*testing.T, string, string) string) func(*testing.T, string, string) string {
	return func(t *testing.T, peers, scratch string) string {
		t.Helper()
		port := freePort(t)
		var words []string
		for line := range strings.Lines(entry(t, peers, scratch)) {
			if rest, ok := strings.CutPrefix(line, "    command: "); ok {
				words = append(words, strings.TrimSpace(rest))
			} else if rest, ok := strings.CutPrefix(line, "    args: ["); ok {
				words = append(words, strings.Split(strings.TrimSuffix(strings.TrimSpace(rest), "]"), ", ")...)
			}
		}
		for i := range words {
			words[i] = strings.ReplaceAll(strings.Trim(words[i], `"`), "PORT", port)
		}
		log := &logFile{}
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = scratch, log, log
		cmd.Env = append(environment(scratch), "PORT="+port)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if t.Failed() {
				t.Logf("the server wrote:\n%s", tail(log.String(), 4<<10))
			}
		})
		if !until(2*patience, func() bool { return listens(port) }) {
			t.Fatalf("the server does not listen:\n%s", log)
		}
		out := "    url: http://127.0.0.1:" + port + path + "\n"
		if kind != "" {
			out += "    type: " + kind + "\n"
		}
		return out
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // only its number is wanted
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func listens(port string) bool {
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// peersDir is the folder that test/peers/install.sh filled. Without it the test
// is skipped, but in CI, where it must be there, it fails.
func peersDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MCP_BRIDGE_PEERS")
	if dir == "" {
		dir = filepath.Join("..", "..", ".cache", "peers")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"node_modules", "venv", "gosdk"} {
		if _, err := os.Stat(filepath.Join(dir, part)); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("the real servers are not there: %v", err)
			}
			t.Skipf("the real servers are not there (make peers installs them): %v", err)
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("no Node: %v", err)
	}
	return dir
}
