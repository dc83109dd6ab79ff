package mcp

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// serverState is what a call of 2026-07-28 must remember from round to round.
// It travels through the client, sealed, so that the server keeps nothing.
type serverState struct {
	Asked   []string                  `json:"k"` // keys of the last round
	Answers map[string]jsontext.Value `json:"a"` // of the rounds before
	Until   int64                     `json:"u"` // Unix seconds
}

// stateSealer seals states so that a client can neither read nor alter one, nor
// use it for another request. Its key lives as long as the server.
type stateSealer struct{ aead cipher.AEAD }

func newStateSealer() (stateSealer, error) {
	key := make([]byte, 32)
	rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		return stateSealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return stateSealer{aead}, err
}

func (k stateSealer) seal(st *serverState, request []byte) (string, error) {
	b, err := serverJSON(st)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(k.aead.Seal(nil, nil, b, request)), nil
}

var errBadState = errors.New("requestState is not of this request, or too old")

func (k stateSealer) open(sealed string, request []byte, now time.Time) (*serverState, error) {
	b, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, errBadState
	}
	if b, err = k.aead.Open(nil, nil, b, request); err != nil {
		return nil, errBadState
	}
	st := &serverState{}
	if err := json.Unmarshal(b, st, serverLenient); err != nil || now.Unix() > st.Until {
		return nil, errBadState
	}
	return st, nil
}

// requestDigest names a request: method, name or URI, and arguments, white space
// aside.
func requestDigest(c *serverCall) []byte {
	h := sha256.New()
	vars, err := json.Marshal(c.request.Vars, json.Deterministic(true), serverLenient)
	if err != nil { // a map of strings: can't be
		vars = nil
	}
	for _, part := range [][]byte{[]byte(c.rpc.Method), []byte(c.request.Name), c.request.Arguments, vars} {
		v := jsontext.Value(part).Clone()
		if len(v) > 0 && v.Kind() == '{' {
			_ = v.Compact(serverLenient) // valid already: it was decoded as part of the params
		}
		sum := sha256.Sum256(v)
		h.Write(sum[:])
	}
	return h.Sum(nil)
}
