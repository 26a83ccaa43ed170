package value

import (
	"bytes"
	"testing"
)

func TestAGiantEventIsNotPaidForEverAfter(t *testing.T) {
	var tape Tape
	giant := append(append([]byte(`["\n`), bytes.Repeat([]byte("x"), 16<<20)...), `"]`...)
	if _, err := tape.Capture(giant); err != nil {
		t.Fatal(err)
	}
	tape.Reset()
	if cap(tape.text) < len(giant) {
		t.Error("memory in use was given back")
	}
	for range 2 {
		if _, err := tape.Capture([]byte(`{"small":"a\nb"}`)); err != nil {
			t.Fatal(err)
		}
		tape.Reset()
	}
	if held := cap(tape.text) + cap(tape.side); held > 1<<20 {
		t.Errorf("%d bytes are held", held)
	}
}
