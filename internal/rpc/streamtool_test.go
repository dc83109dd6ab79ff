package rpc_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	connect "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
	"github.com/mcpbridge/mcp-bridge/internal/rpc"
)

// stream collects what a StreamTool sends.
func stream(t *testing.T, c mcpbridgev1connect.McpServiceClient, r *v1.StreamToolRequest) (all []*v1.StreamToolResponse, err error) {
	t.Helper()
	s, err := c.StreamTool(t.Context(), r)
	for err == nil {
		var m *v1.StreamToolResponse
		if m, err = s.Receive(); err == nil {
			all = append(all, m)
		}
	}
	if err.Error() == "EOF" || strings.HasSuffix(err.Error(), io.EOF.Error()) {
		err = nil
	}
	return all, err
}

func TestStreamToolShowsWhatHappens(t *testing.T) {
	t.Parallel()
	for _, private := range []bool{false, true} {
		for _, o := range [][]connecthttp.Option{nil, {connecthttp.WithGRPC()}, {connecthttp.WithGRPCWeb()}, {connecthttp.WithProtoJSON()}} {
			b := one(t, &server{private: private, serve: func(c *call) {
				for i := 1; i <= 3; i++ {
					c.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":3}`, c.token(), i))
				}
				c.notify("notifications/message", `{"level":"warning","data":{"a":1}}`)
				c.result(okResult)
			}})
			all, err := stream(t, b.connect(t, o...), &v1.StreamToolRequest{Call: &v1.CallToolRequest{Name: "x", Options: &v1.RequestOptions{CallId: "me"}}})
			if err != nil || len(all) != 5 {
				t.Fatalf("%v %v", all, err)
			}
			for i, m := range all[:3] {
				if p := m.GetProgress(); p.GetCurrent() != float64(i+1) || p.GetTotal() != 3 || p.GetCallId() != "me" {
					t.Errorf("%v", m)
				}
			}
			if l := all[3].GetLog(); l.GetLevel() != v1.LogLevel_LOG_LEVEL_WARNING || l.GetData().GetText() != `{"a":1}` || l.GetCallId() != "me" {
				t.Errorf("%v", l)
			}
			if all[4].GetResponse().GetResult().GetContent()[0].GetText().GetText() != "ok" {
				t.Errorf("%v", all[4])
			}
		}
	}
}

func TestStreamToolFails(t *testing.T) {
	t.Parallel()
	b := one(t, &server{serve: func(c *call) {
		c.notify("notifications/progress", `{"progressToken":`+c.token()+`,"progress":1}`)
		c.fail(-32602, "no", "")
	}})
	for _, o := range [][]connecthttp.Option{nil, {connecthttp.WithGRPC()}} {
		all, err := stream(t, b.connect(t, o...), &v1.StreamToolRequest{Call: &v1.CallToolRequest{Name: "x"}})
		want(t, err, connect.CodeInvalidArgument, "INVALID_PARAMS")
		if len(all) != 1 {
			t.Errorf("%v", all)
		}
	}
	_, err := stream(t, b.client, &v1.StreamToolRequest{})
	want(t, err, connect.CodeInvalidArgument, "INVALID_REQUEST")
}

func TestAStreamThatIsLeftCancelsItsCall(t *testing.T) {
	t.Parallel()
	cancelled, began := make(chan string, 1), make(chan struct{})
	s := silent(cancelled)
	s.serve = func(*call) { close(began) }
	b := one(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	stream, err := b.client.StreamTool(ctx, &v1.StreamToolRequest{Call: &v1.CallToolRequest{Name: "x"}})
	if err == nil {
		_, err = stream.Receive()
	}
	if connect.CodeOf(err) != connect.CodeCanceled {
		t.Error(err)
	}
	<-cancelled
}

func TestLargeContentComesInChunks(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("aé漢😀", 20)
	b := one(t, &server{serve: func(c *call) {
		c.result(`{"content":[{"type":"text","text":"small"},{"type":"text","text":"` + text + `"},{"type":"image","mimeType":"x/y","data":"` + strings.Repeat("QUJD", 40) + `"}],"structuredContent":{"t":"` + text + `"}}`)
	}})
	for _, size := range []int32{1, 7, 100, 1 << 19} {
		all, err := stream(t, b.client, &v1.StreamToolRequest{Call: &v1.CallToolRequest{Name: "x"}, ChunkBytes: size})
		if err != nil {
			t.Fatal(err)
		}
		parts := map[string]string{}
		for _, m := range all[:len(all)-1] {
			c := m.GetChunk()
			if c == nil || len(c.Data) == 0 || len(c.Data) > max(int(size), utf8.UTFMax) {
				t.Fatalf("%v", m)
			}
			if c.Index != 2 && !utf8.Valid(c.Data) {
				t.Fatalf("a character was cut: %q", c.Data)
			}
			parts[fmt.Sprint(c.Part, c.Index)] += string(c.Data)
		}
		res := all[len(all)-1].GetResponse().GetResult()
		whole := func(part v1.ChunkPart, i int32, left string) string {
			return parts[fmt.Sprint(part, i)] + left
		}
		content := v1.ChunkPart_CHUNK_PART_CONTENT
		if whole(content, 0, res.Content[0].GetText().Text) != "small" || whole(content, 1, res.Content[1].GetText().Text) != text ||
			whole(content, 2, string(res.Content[2].GetImage().Data)) != strings.Repeat("ABC", 40) ||
			whole(v1.ChunkPart_CHUNK_PART_STRUCTURED_CONTENT, 0, res.StructuredContent.Text) != `{"t":"`+text+`"}` {
			t.Errorf("chunks of %d don't make the result", size)
		}
		if size < 100 && res.StructuredContent == nil {
			t.Error("what went out in chunks is not even empty")
		}
	}
}

// What a call receives faster than its caller reads is counted.
func TestAStreamsEventsAddUp(t *testing.T) {
	t.Parallel()
	const sends = 500
	pad := strings.Repeat("x", 1000)
	s := &server{serve: func(c *call) {
		for i := range sends {
			c.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d,"message":%q}`, c.token(), i+1, pad))
		}
		c.result(okResult)
	}}
	b := start(t, rpc.Options{Servers: upstreams(t, nil, s), WatchBuffer: 8})
	all, err := stream(t, b.client, &v1.StreamToolRequest{Call: &v1.CallToolRequest{Name: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	received, lost, last := 0, 0, 0.0
	for _, m := range all[:len(all)-1] {
		if g := m.GetGap(); g != nil {
			lost += int(g.Lost)
			continue
		}
		if p := m.GetProgress().GetCurrent(); p != last+float64(lost-int(last)+received)+1 && p <= last {
			t.Fatalf("%v after %v", p, last)
		}
		received, last = received+1, m.GetProgress().GetCurrent()
	}
	if received+lost != sends || last != sends || all[len(all)-1].GetResponse() == nil {
		t.Errorf("%d received, %d lost, %d sent", received, lost, sends)
	}
}
