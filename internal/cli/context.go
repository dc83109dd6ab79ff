package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// A Context is what a subcommand has of the world around it.
type Context struct {
	Ctx    context.Context // ends with the first signal
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    func(name string) string // as os.Getenv; nil: nothing is set

	IsTerminal    bool           // standard output is one
	ErrIsTerminal bool           // standard error is one
	Width         int            // of the terminal in columns; 0: not known
	Location      *time.Location // for times; nil: time.Local
	OneShot       OneShot        // for --url
}

// OneShot speaks to one MCP URL, without a bridge.
type OneShot struct {
	// CallOnce sends one request and returns the JSON-RPC envelope of its answer,
	// as the server wrote it, be it a result or an error. Whatever handshake the
	// server wants comes before, and its end after.
	CallOnce func(ctx context.Context, url string, headers map[string]string, method string, params json.RawMessage) (envelope []byte, err error)
}

func (c *Context) env(name string) string {
	if c.Env == nil {
		return ""
	}
	return c.Env(name)
}

func (c *Context) local(t time.Time) time.Time {
	if c.Location != nil {
		return t.In(c.Location)
	}
	return t.Local()
}

// out and errOut are the styles of the two outputs.
func (c *Context) out() style    { return c.style(c.IsTerminal) }
func (c *Context) errOut() style { return c.style(c.ErrIsTerminal) }

func (c *Context) style(terminal bool) style {
	return style{terminal: terminal, colour: terminal && c.env("NO_COLOR") == "" && c.env("TERM") != "dumb"}
}

// note tells the person something that is no result.
func (c *Context) note(format string, args ...any) {
	st := c.errOut()
	fmt.Fprintln(c.Stderr, st.dim(st.clean(fmt.Sprintf(format, args...)))) //nolint:errcheck // nobody to tell
}

// printJSON prints a message as the JSON of the Connect protocol. protojson varies
// its white space on purpose, so it is laid out anew.
func (c *Context) printJSON(m proto.Message, indent bool) error {
	b, err := protojson.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return c.printLaidOut(b, indent)
}

func (c *Context) printLaidOut(b []byte, indent bool) error {
	text, err := layOut(b, indent)
	if err != nil {
		return err
	}
	_, err = io.WriteString(c.Stdout, text+"\n")
	return err
}

// print writes a server's text to standard output.
func (c *Context) print(text string) error { return c.write(c.out().clean(text)) }

// write writes text of ours to standard output and makes it end with a newline.
func (c *Context) write(text string) error {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(c.Stdout, text)
	return err
}
