//go:build unix

package e2e_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	connect "connectrpc.com/connect/v2"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// jsonCaller does what curl does: it knows URLs and JSON, no stubs and no
// library for RPCs. Streams are JSON in the envelopes of the Connect protocol.
type jsonCaller struct{ base string }

func (c *jsonCaller) post(ctx context.Context, method, contentType string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+servicePath+method, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", contentType)
	if ms := timeLeft(ctx); ms > 0 {
		req.Header.Set("Connect-Timeout-Ms", strconv.FormatInt(ms, 10))
	}
	return http.DefaultClient.Do(req)
}

func (c *jsonCaller) unary(ctx context.Context, method string, in, out proto.Message) error {
	body, err := protojson.Marshal(in)
	if err != nil {
		return err
	}
	res, err := c.post(ctx, method, "application/json", body)
	if err != nil {
		return localFault(ctx, err)
	}
	defer res.Body.Close() //nolint:errcheck // read to its end
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return localFault(ctx, err)
	}
	if res.StatusCode == http.StatusOK {
		return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(answer, out)
	}
	return jsonFault(answer)
}

func (c *jsonCaller) stream(ctx context.Context, method string, in proto.Message) (stream, error) {
	body, err := protojson.Marshal(in)
	if err != nil {
		return nil, err
	}
	envelope := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body)))
	res, err := c.post(ctx, method, "application/connect+json", append(envelope, body...))
	if err != nil {
		return nil, localFault(ctx, err)
	}
	context.AfterFunc(ctx, func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d", res.StatusCode)
	}
	return &jsonStream{ctx, res.Body}, nil
}

type jsonStream struct {
	ctx  context.Context
	body io.Reader
}

func (s *jsonStream) next(out proto.Message) error {
	head := make([]byte, 5)
	if _, err := io.ReadFull(s.body, head); err != nil {
		return localFault(s.ctx, err)
	}
	message := make([]byte, binary.BigEndian.Uint32(head[1:]))
	if _, err := io.ReadFull(s.body, message); err != nil {
		return localFault(s.ctx, err)
	}
	const isEnd = 2
	if head[0]&isEnd == 0 {
		return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(message, out)
	}
	var end struct {
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(message, &end); err != nil {
		return err
	}
	if end.Error == nil {
		return io.EOF
	}
	return jsonFault(end.Error)
}

// localFault is an error that no bridge sent, as the clients with stubs have it.
func localFault(ctx context.Context, err error) error {
	code := connect.CodeUnavailable
	switch ctx.Err() {
	case context.Canceled:
		code = connect.CodeCanceled
	case context.DeadlineExceeded:
		code = connect.CodeDeadlineExceeded
	}
	return &fault{code: code, message: err.Error()}
}

func jsonFault(body []byte) error {
	var e struct {
		Code    connect.Code `json:"code"`
		Message string       `json:"message"`
		Details []struct {
			Type  string `json:"type"`
			Value string `json:"value"`
		} `json:"details"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return fmt.Errorf("no error of Connect: %w: %.200s", err, body)
	}
	f := &fault{code: e.Code, message: e.Message}
	for _, d := range e.Details {
		value, err := base64.RawStdEncoding.DecodeString(d.Value)
		if err != nil {
			return err
		}
		f.add(&anypb.Any{TypeUrl: "type.googleapis.com/" + d.Type, Value: value})
	}
	return f
}
