package daemon

import "testing"

func TestSubject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ method, params, want string }{
		{"tools/call", `{"name":"echo","uri":"u"}`, "echo"},
		{"prompts/get", `{"name":""}`, ""},
		{"resources/read", `{"name":"n","uri":"demo://readme"}`, "demo://readme"},
		{"tasks/get", `{"taskId":"7"}`, "7"},
	} {
		if got := subject(tt.method, []byte(tt.params)); got == nil || *got != tt.want {
			t.Errorf("%s %s: %v, want %q", tt.method, tt.params, got, tt.want)
		}
	}
	for _, tt := range []struct{ method, params string }{
		{"tools/list", `{"name":"echo"}`}, {"tools/call", `{}`}, {"tools/call", `{"name":null}`},
		{"tools/call", `{"name":1}`}, {"tools/call", ``}, {"tasks/list", `{}`},
	} {
		if got := subject(tt.method, []byte(tt.params)); got != nil {
			t.Errorf("%s %s: %q, want none", tt.method, tt.params, *got)
		}
	}
}
