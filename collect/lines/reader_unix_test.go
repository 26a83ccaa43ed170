//go:build unix

package lines

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPipesSocketsAndDevicesDoNotBlock(t *testing.T) {
	dir, err := os.MkdirTemp("", "lines") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	pipe := filepath.Join(dir, "pipe.jsonl")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	socket := filepath.Join(dir, "socket.jsonl")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip("no sockets here:", err)
	}
	defer listener.Close()
	zero := filepath.Join(dir, "zero.jsonl")
	if err := os.Symlink("/dev/zero", zero); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, socket, zero, "/dev/null"} {
		for _, follow := range []bool{false, true} {
			_, err := Open(path, Options{Follow: follow})
			if _, ok := errors.AsType[*NotRegularError](err); !ok {
				t.Errorf("%s, follow %t: %v", path, follow, err)
			}
		}
	}
}
