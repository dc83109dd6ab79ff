package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// stream calls a tool and shows what happens meanwhile.
func (l *link) stream(c *Context, req *mcpbridgev1.CallToolRequest) (*mcpbridgev1.CallToolResponse, error) {
	stream, err := l.StreamTool(l.ctx, &mcpbridgev1.StreamToolRequest{Call: req})
	if err != nil {
		return nil, err
	}
	defer stream.Close() //nolint:errcheck // the result is what counts
	st := c.errOut()
	meter := &meter{w: c.Stderr, width: c.Width}
	defer meter.clear()
	var parts chunks
	for {
		event, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil, errNoResponse
		}
		if err != nil {
			return nil, err
		}
		switch e := event.GetEvent().(type) {
		case *mcpbridgev1.StreamToolResponse_Progress:
			meter.show(oneLine(progressBar(e.Progress)))
		case *mcpbridgev1.StreamToolResponse_Log:
			meter.above(st.dim(oneLine(logText(e.Log))))
		case *mcpbridgev1.StreamToolResponse_Gap:
			meter.above(st.dim(gapText(e.Gap)))
		case *mcpbridgev1.StreamToolResponse_Other:
			meter.above(st.dim(oneLine(e.Other.GetMethod() + " " + string(jsonText(e.Other.GetParams())))))
		case *mcpbridgev1.StreamToolResponse_Question:
			meter.above(st.clean(questionText(e.Question)) + st.dim(" (refused: this command answers no questions)"))
			l.refuse(c, req.GetSessionId(), e.Question)
		case *mcpbridgev1.StreamToolResponse_Chunk:
			parts.add(e.Chunk)
		case *mcpbridgev1.StreamToolResponse_Response:
			parts.fill(e.Response)
			return e.Response, nil
		}
	}
}

// chunks puts together what came in pieces.
type chunks struct {
	content         map[int32][]byte
	structured, raw []byte
}

func (p *chunks) add(chunk *mcpbridgev1.ContentChunk) {
	switch chunk.GetPart() {
	case mcpbridgev1.ChunkPart_CHUNK_PART_CONTENT:
		if p.content == nil {
			p.content = map[int32][]byte{}
		}
		p.content[chunk.GetIndex()] = append(p.content[chunk.GetIndex()], chunk.GetData()...)
	case mcpbridgev1.ChunkPart_CHUNK_PART_STRUCTURED_CONTENT:
		p.structured = append(p.structured, chunk.GetData()...)
	case mcpbridgev1.ChunkPart_CHUNK_PART_RAW_JSON:
		p.raw = append(p.raw, chunk.GetData()...)
	}
}

// fill puts the pieces where the response has left room for them.
func (p *chunks) fill(res *mcpbridgev1.CallToolResponse) {
	if len(p.raw) > 0 {
		res.RawJson = string(p.raw)
	}
	if len(p.structured) > 0 && res.GetResult() != nil {
		res.GetResult().StructuredContent = &mcpbridgev1.Json{Text: string(p.structured)}
	}
	for i, data := range p.content {
		if int(i) >= len(res.GetResult().GetContent()) || i < 0 {
			continue
		}
		switch b := res.GetResult().GetContent()[i].GetBlock().(type) {
		case *mcpbridgev1.Content_Text:
			b.Text.Text = string(data)
		case *mcpbridgev1.Content_Image:
			b.Image.Data = data
		case *mcpbridgev1.Content_Audio:
			b.Audio.Data = data
		case *mcpbridgev1.Content_Resource:
			if _, blob := b.Resource.GetBody().(*mcpbridgev1.ResourceContents_Blob); blob {
				b.Resource.Body = &mcpbridgev1.ResourceContents_Blob{Blob: data}
			} else {
				b.Resource.Body = &mcpbridgev1.ResourceContents_Text{Text: string(data)}
			}
		}
	}
}

// A meter is the one line of a terminal that is written over and over.
type meter struct {
	w     io.Writer
	width int
	text  string
}

const eraseLine = "\r\x1b[K"

func (m *meter) show(text string) {
	width := m.width
	if width == 0 {
		width = 80
	}
	m.text = cut(text, width-1) // a full line would make some terminals scroll
	_, _ = io.WriteString(m.w, eraseLine+m.text)
}

// above writes a line that stays, over the meter.
func (m *meter) above(line string) {
	text := m.text
	m.clear()
	_, _ = io.WriteString(m.w, line+"\n")
	if text != "" {
		m.show(text)
	}
}

func (m *meter) clear() {
	if m.text != "" {
		_, _ = io.WriteString(m.w, eraseLine)
		m.text = ""
	}
}

// progressBar is progressText with a picture of it, for the meter.
func progressBar(p *mcpbridgev1.Progress) string {
	share, ok := progressShare(p)
	if !ok {
		return progressText(p)
	}
	const cells = 20
	full := int(share * cells)
	return "[" + strings.Repeat("=", full) + strings.Repeat("-", cells-full) + "] " + progressText(p)
}

func progressText(p *mcpbridgev1.Progress) string {
	text := number(p.GetCurrent())
	if share, ok := progressShare(p); ok {
		text = fmt.Sprintf("%.0f%% (%s of %s)", math.Floor(100*share), text, number(p.GetTotal()))
	}
	if p.GetMessage() != "" {
		text += " " + p.GetMessage()
	}
	return text
}

// progressShare is how much is done, from 0 to 1, where that can be said.
func progressShare(p *mcpbridgev1.Progress) (float64, bool) {
	share := p.GetCurrent() / p.GetTotal()
	if p.Total == nil || math.IsNaN(share) || math.IsInf(share, 0) {
		return 0, false
	}
	return math.Max(0, math.Min(1, share)), true
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func logText(l *mcpbridgev1.LogMessage) string {
	text := "[" + levelName(l.GetLevel()) + "] "
	if l.GetLogger() != "" {
		text += l.GetLogger() + ": "
	}
	return text + plainJSON(l.GetData())
}

func levelName(l mcpbridgev1.LogLevel) string {
	return strings.ToLower(strings.TrimPrefix(l.String(), "LOG_LEVEL_"))
}

// plainJSON writes a JSON string as its text, all else as it is.
func plainJSON(j *mcpbridgev1.Json) string {
	text := jsonText(j)
	if m := (members{{"", text}}); len(text) > 0 && text[0] == '"' {
		return m.str("")
	}
	return string(text)
}

func gapText(g *mcpbridgev1.Gap) string {
	if g.GetLost() == 0 {
		return "some events were lost"
	}
	return fmt.Sprintf("%d events were lost", g.GetLost())
}
