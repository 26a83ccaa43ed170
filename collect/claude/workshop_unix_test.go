//go:build !windows

package claude

import (
	"errors"
	"strconv"
	"syscall"
	"time"
)

// wantNoChildren checks that what the program started has ended.
func (w *workshop) wantNoChildren() {
	w.t.Helper()
	for _, text := range w.logged("child") {
		pid, err := strconv.Atoi(string(text))
		if err != nil {
			w.t.Fatal(err)
		}
		for waited := 0; !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH); waited++ {
			if waited > 100 {
				w.t.Errorf("the program's child %d is still there", pid)
				return
			}
			time.Sleep(20 * time.Millisecond) // the system reaps an orphan when it gets to it
		}
	}
}
