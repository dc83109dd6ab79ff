package front

import (
	"log"
	"net/http"
	"time"
)

// NewServer makes the HTTP server: HTTP/1.1 and HTTP/2, the latter without TLS by
// prior knowledge. It has no ReadTimeout and no WriteTimeout, which would cut
// live streams: see patient.
func NewServer(h http.Handler, errorLog *log.Logger) *http.Server {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           h,
		Protocols:         p,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       5 * time.Minute, // all that closes a connection without a stream
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          errorLog,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          1000, // with the default of 250, a client with 250 watches hangs
			SendPingTimeout:               30 * time.Second,
			PingTimeout:                   10 * time.Second,
			WriteByteTimeout:              30 * time.Second,
			MaxReceiveBufferPerConnection: 4<<20 - 1,
			MaxReceiveBufferPerStream:     1 << 20,
		},
	}
}
