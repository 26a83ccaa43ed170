//go:build unix

package claude

import (
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"agentsync/fixtures/plainuser"
)

func TestOddFilesAreSkippedWithANoteEach(t *testing.T) {
	dir, err := os.MkdirTemp("", "claude") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	c := config{t, dir}
	c.put("-p/"+u(1)+".jsonl", talk("hi"))
	c.put("-p/"+u(1)+"/a.txt", "x")
	for _, name := range []string{"-p/" + u(2) + ".jsonl", "-p/" + u(1) + "/pipe"} {
		if err := unix.Mkfifo(c.path(name), 0o600); err != nil {
			t.Skip("no pipes here:", err)
		}
	}
	listener, err := net.Listen("unix", c.path("-p/s.jsonl"))
	if err != nil {
		t.Skip("no sockets here:", err)
	}
	defer listener.Close()
	c.link("/dev/zero", "-p/"+u(3)+".jsonl")
	page := inventory(t, c.driver())
	wantIDs(t, page, u(1), u(1)+"/files")
	if len(page.Notes) != 4 || len(page.Problems) != 0 {
		t.Errorf("notes %v, problems %v", page.Notes, page.Problems)
	}
}

func TestListingOpensNoTranscript(t *testing.T) {
	if plainuser.Runs(t) {
		return
	}
	c := newConfig(t)
	c.put("-p/"+u(1)+".jsonl", talk("hi"))
	if err := os.Chmod(c.path("-p/"+u(1)+".jsonl"), 0); err != nil {
		t.Fatal(err)
	}
	page := inventory(t, c.driver())
	if len(page.Sessions) != 1 || len(page.Problems) != 0 {
		t.Errorf("%+v", page)
	}
}
