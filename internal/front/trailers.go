package front

import (
	"net/http"
	"strings"
)

// trailersOnly lets a gRPC call that fails before its first message be answered
// by one HEADERS frame that ends the stream, with the status in it. Connect
// itself sends headers and then trailers, which gRPC's retry policies take for
// the beginning of an answer, and in which proxies do not look for the status.
//
// It relies on the order in which connect writes: a failed call sets its
// trailers and then flushes, once, with nothing written before; net/http sends a
// single frame where nothing was written when the handler returns.
func trailersOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && isGRPC(r) {
			w = &trailersOnlyWriter{ResponseWriter: w}
		}
		next.ServeHTTP(w, r)
	})
}

// isGRPC tells gRPC from gRPC-Web and the rest.
func isGRPC(r *http.Request) bool {
	ct := r.Header.Get("Content-Type")
	rest, ok := strings.CutPrefix(ct, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

type trailersOnlyWriter struct {
	http.ResponseWriter
	committed bool
}

func (w *trailersOnlyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *trailersOnlyWriter) Write(b []byte) (int, error) {
	w.committed = true
	return w.ResponseWriter.Write(b)
}

func (w *trailersOnlyWriter) WriteHeader(code int) {
	w.committed = true
	w.ResponseWriter.WriteHeader(code)
}

// Flush is where connect would send the headers of a failed call.
func (w *trailersOnlyWriter) Flush() {
	h := w.Header()
	status := h[http.TrailerPrefix+"Grpc-Status"]
	if w.committed || len(status) != 1 || status[0] == "0" || hasOwnHeaders(h) {
		w.committed = true
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		return
	}
	for k, v := range h {
		if name, ok := strings.CutPrefix(k, http.TrailerPrefix); ok {
			delete(h, k)
			h[name] = append(h[name], v...)
		}
	}
	w.committed = true
}

// hasOwnHeaders reports whether the handler set headers that must stay apart
// from the trailers.
func hasOwnHeaders(h http.Header) bool {
	for k := range h {
		switch k {
		case "Content-Type", "Grpc-Encoding", "Grpc-Accept-Encoding", "Trailer", "Date", "Vary":
		default:
			if !strings.HasPrefix(k, http.TrailerPrefix) {
				return true
			}
		}
	}
	return false
}
