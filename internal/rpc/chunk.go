package rpc

import (
	"unicode/utf8"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"
)

const (
	defaultChunk = 256 << 10
	maxChunk     = 1 << 20
)

// chunkBytes is the size of chunks that a caller asks for.
func chunkBytes(n int32) int {
	switch {
	case n <= 0:
		return defaultChunk
	case n > maxChunk:
		return maxChunk
	}
	return int(n)
}

// chunked sends what is larger than a chunk in pieces, and leaves it empty in res.
func chunked(res *mcpbridgev1.CallToolResponse, size int, send func(*mcpbridgev1.ContentChunk) error) error {
	text := func(part mcpbridgev1.ChunkPart, index int, s *string) error {
		if len(*s) <= size {
			return nil
		}
		for rest := *s; rest != ""; {
			n := cutAt(rest, size)
			if err := send(&mcpbridgev1.ContentChunk{Part: part, Index: int32(index), Data: jsonscan.AsBytes(rest[:n])}); err != nil {
				return err
			}
			rest = rest[n:]
		}
		*s = ""
		return nil
	}
	data := func(index int, b *[]byte) error {
		if len(*b) <= size {
			return nil
		}
		for rest := *b; len(rest) > 0; {
			n := min(size, len(rest))
			if err := send(&mcpbridgev1.ContentChunk{Part: mcpbridgev1.ChunkPart_CHUNK_PART_CONTENT, Index: int32(index), Data: rest[:n]}); err != nil {
				return err
			}
			rest = rest[n:]
		}
		*b = []byte{}
		return nil
	}
	if err := text(mcpbridgev1.ChunkPart_CHUNK_PART_RAW_JSON, 0, &res.RawJson); err != nil {
		return err
	}
	result := res.GetResult()
	for i, c := range result.GetContent() {
		var err error
		switch b := c.Block.(type) {
		case *mcpbridgev1.Content_Text:
			err = text(mcpbridgev1.ChunkPart_CHUNK_PART_CONTENT, i, &b.Text.Text)
		case *mcpbridgev1.Content_Image:
			err = data(i, &b.Image.Data)
		case *mcpbridgev1.Content_Audio:
			err = data(i, &b.Audio.Data)
		case *mcpbridgev1.Content_Resource:
			switch body := b.Resource.Body.(type) {
			case *mcpbridgev1.ResourceContents_Text:
				err = text(mcpbridgev1.ChunkPart_CHUNK_PART_CONTENT, i, &body.Text)
			case *mcpbridgev1.ResourceContents_Blob:
				err = data(i, &body.Blob)
			}
		}
		if err != nil {
			return err
		}
	}
	if sc := result.GetStructuredContent(); sc != nil {
		return text(mcpbridgev1.ChunkPart_CHUNK_PART_STRUCTURED_CONTENT, 0, &sc.Text)
	}
	return nil
}

// cutAt is how much of s goes into a chunk: as much as fits, between characters.
func cutAt(s string, size int) int {
	if len(s) <= size {
		return len(s)
	}
	n := size
	for n > 0 && size-n < utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	if n == 0 || !utf8.RuneStart(s[n]) {
		_, w := utf8.DecodeRuneInString(s) // a chunk smaller than a character
		return w
	}
	return n
}
