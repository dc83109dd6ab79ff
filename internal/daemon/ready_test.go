package daemon

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/config"
)

func TestReadyFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ready")
	if err := writeReady(file, "http://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "http://127.0.0.1:1\n" {
		t.Fatalf("%q, %v", b, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Fatalf("something else is left: %v, %v", entries, err)
	}
	removeReady(file)
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Fatal("still there")
	}
	if err := writeReady(filepath.Join(t.TempDir(), "no", "such", "folder"), "x"); err == nil {
		t.Fatal("written into a folder that does not exist")
	}
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ip   string
		cert string
		want string
	}{
		{"127.0.0.1", "", "http://127.0.0.1:80"},
		{"0.0.0.0", "", "http://127.0.0.1:80"},
		{"::", "", "http://127.0.0.1:80"},
		{"::1", "", "http://[::1]:80"},
		{"10.0.0.1", "c.pem", "https://10.0.0.1:80"},
	} {
		d := &daemon{o: Options{Config: &config.Config{TLS: config.TLS{CertFile: tt.cert}}}}
		if got := d.baseURL(&net.TCPAddr{IP: net.ParseIP(tt.ip), Port: 80}); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.ip, got, tt.want)
		}
	}
}
