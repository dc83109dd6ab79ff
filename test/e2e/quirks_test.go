//go:build unix

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	connect "connectrpc.com/connect/v2"
)

// A quirk is a case of the misbehaving server and what must come of it.
type quirk struct {
	name, on string
	check    func(r *rig)
	options  string // of the server's entry in the configuration
}

const both = overStdio + "," + overHTTP

// quirks says of every case, on every transport that has it, what must come of it.
var quirks = []quirk{
	{"none", both, works, ""},
	{"modern-base", both, works, ""},

	// Framing on a pipe.
	{"banner-on-stdout", overStdio, works, ""},
	{"bom", overStdio, works, ""},
	{"crlf", overStdio, works, ""},
	{"split-utf8", overStdio, accents, ""},
	{"huge-line", overStdio, huge, ""},
	{"u2028", both, separators, ""},

	// The process.
	{"exit-at-start", overStdio, startFails(want{connect.CodeUnavailable, "SERVER_UNAVAILABLE", notSent, []string{"exit status 1", "TOKEN is not set"}}), ""},
	{"exit-mid-call", overStdio, exitMidCall, ""},
	{"stdout-eof-alive", overStdio, outputEnds, "stop_grace: 300ms\n"},
	{"crash-on-initialized", overStdio, crashOnInitialized, ""},
	{"stderr-flood", overStdio, works, ""},
	{"stdin-not-read", overStdio, inputNotRead, "timeout: 1s\nstop_grace: 300ms\n"},
	{"ignore-sigterm", overStdio, closesQuickly, "stop_grace: 300ms\n"},
	{"orphan-grandchild", overStdio, orphan, ""},
	{"env-cwd", overStdio, environmentAndFolder, "cwd: /usr\nenv: {CONFIGURED: its value}\n"},

	// Ids and responses.
	{"string-ids", both, works, ""},
	{"null-id-error", both, nullID, ""},
	{"null-members", both, nullMembers, ""},
	{"duplicate-response", both, works, ""},
	{"unknown-id-response", both, works, ""},
	{"late-response", both, late, ""},
	{"out-of-order", both, outOfOrder, ""},

	// Requests of the server, and the beginning.
	{"ping-before-init", both, pingBeforeInit, ""},
	{"ping-during-call", both, saysPong, ""},
	{"roots-during-call", both, rootsDuringCall, ""},
	{"no-init-answer", both, noInitAnswer, "start_timeout: 4s\nstop_grace: 300ms\n"},
	{"future-version", both, startFails(want{connect.CodeFailedPrecondition, "PROTOCOL_VERSION", answered, []string{"2099-12-31"}}), ""},
	{"error-to-notification", overStdio, works, ""},
	{"discover-crash", overStdio, works, ""},
	{"discover-silent", both, works, "probe_timeout: 500ms\n"},
	{"discover-http-400", overHTTP, works, ""},

	// Results and schemas.
	{"tool-error", both, toolError, ""},
	{"rpc-error-data", both, rpcErrors, ""},
	{"tool-schema-null", both, oddSchemas, ""},
	{"tool-names-odd", both, oddNames, ""},
	{"huge-tool-list", both, hugeList, ""},
	{"cursor-loop", both, cursorLoop, ""},
	{"cursor-empty-last", both, cursorEmpty, ""},
	{"content-missing", both, contentMissing, ""},
	{"content-null", both, contentNull, ""},
	{"structured-nonobject", both, structuredValues, ""},
	{"unknown-content", both, unknownContent, ""},
	{"output-schema-mismatch", both, schemaMismatch, ""},
	{"big-ints", both, bigIntegers, ""},
	{"lone-surrogate", both, loneSurrogate, ""},
	{"meta-passthrough", both, metaPassthrough, ""},

	// Progress and notifications.
	{"progress-string-token", both, strangeProgress, ""},
	{"progress-after-response", both, strangeProgress, ""},
	{"list-changed-storm", both, storm, ""},
	{"unknown-notification", both, works, ""},

	// 2026-07-28.
	{"modern-unsupported", both, modernUnsupported, ""},
	{"modern-mrtr", both, capabilityRequired, ""},
	{"modern-headers", overHTTP, encodedNames, ""},
	{"modern-subscribe", both, modernSubscribe, ""},
	{"modern-unknown-result-type", both, callFails("echo", want{connect.CodeInternal, "INVALID_RESPONSE", answered, []string{"hologram"}}), ""},

	// Event streams.
	{"sse-multiline-data", overHTTP, works, ""},
	{"sse-no-space", overHTTP, works, ""},
	{"sse-crlf", overHTTP, works, ""},
	{"sse-comments", overHTTP, works, ""},
	{"sse-empty-data", overHTTP, works, ""},
	{"sse-tiny-chunks", overHTTP, accents, ""},
	{"sse-huge-event", overHTTP, huge, ""},
	{"sse-early-close", overHTTP, lostOnce(want{connect.CodeAborted, "NO_RESPONSE", sent, []string{"no response received for request "}}), ""},
	{"sse-interleaved", overHTTP, interleaved, ""},
	{"get-hang", overHTTP, fast, ""},
	{"get-404", overHTTP, noStream, ""},

	// HTTP: statuses, headers, sessions.
	{"post-200-empty", overHTTP, notifications, ""},
	{"session-404", overHTTP, sessionForgotten, ""},
	{"session-400", overHTTP, sessionInvalid, ""},
	{"post-redirect", overHTTP, redirect302, ""},
	{"redirect-307", overHTTP, works, ""},
	{"wrong-content-type", overHTTP, works, ""},
	{"charset-params", overHTTP, works, ""},
	{"html-200", overHTTP, signInPage, ""},
	{"http-error-jsonrpc", overHTTP, httpErrors, ""},
	{"auth-401", overHTTP, unauthenticated, ""},
	{"conn-reset", overHTTP, lostOnce(want{connect.CodeAborted, "REQUEST_LOST", sent, nil}), ""},
	{"batch-response", overHTTP, works, ""},
	{"legacy-sse", overHTTP, works, ""},
	{"legacy-sse-post-body", overHTTP, works, ""},
}

func TestQuirks(t *testing.T) {
	script := quirkScript(t)
	for _, q := range quirks {
		for on := range strings.SplitSeq(q.on, ",") {
			t.Run(q.name+"/"+on, func(t *testing.T) {
				t.Parallel()
				q.check(newRig(t, script, q.name, on, q.options))
			})
		}
	}
}

// TestQuirksAreAllThere: the table has a row for each case and transport.
func TestQuirksAreAllThere(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(python(t), quirkScript(t), "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	var has, wants []string
	for _, q := range quirks {
		has = append(has, q.name+" "+q.on)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(line, "\t")
		wants = append(wants, fields[0]+" "+fields[1])
	}
	for _, w := range wants {
		if !slices.Contains(has, w) {
			t.Errorf("the table has no row for %s", w)
		}
	}
	if len(has) != len(wants) {
		t.Errorf("the table has %d rows, the server %d cases", len(has), len(wants))
	}
}

// quirkScript is the path of the server; without it the test is skipped.
func quirkScript(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(quirkServer); err != nil {
		t.Skipf("the misbehaving server is not there: %v", err)
	}
	python(t)
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(wd, quirkServer)
}

// findPython asks Python where it is: what is on the PATH may be a script that
// starts it.
var findPython = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	return strings.TrimSpace(string(out)), err
})

// python is the path of Python; without it the test is skipped.
func python(t *testing.T) string {
	t.Helper()
	path, err := findPython()
	if err != nil {
		t.Skipf("no Python: %v", err)
	}
	return path
}
