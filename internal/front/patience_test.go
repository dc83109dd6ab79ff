package front_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/front"
)

// A late writer counts deadlines that were set in the past, which is how an alarm
// ends what waits. Its Write panics.
type lateWriter struct {
	sink
	rung *atomic.Int32
}

func (lateWriter) Write([]byte) (int, error) { panic(http.ErrAbortHandler) }
func (w lateWriter) SetWriteDeadline(t time.Time) error {
	if t.Before(time.Now()) {
		w.rung.Add(1)
	}
	return nil
}

// net/http's writer must not be touched once its handler has returned, however
// it did.
func TestNoAlarmRingsAfterItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rung atomic.Int32
		h := front.Patient(time.Second, time.Second, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil) }))
		for _, major := range []int{1, 2} {
			func() {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				h.ServeHTTP(lateWriter{sink{http.Header{}}, &rung}, &http.Request{ProtoMajor: major})
			}()
		}
		<-time.After(time.Minute)
		if n := rung.Load(); n != 0 {
			t.Errorf("%d alarms rang", n)
		}
	})
}
