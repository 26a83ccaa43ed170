package codex

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"agentsync/collect/value"
)

func BenchmarkReadRollout(b *testing.B) {
	dir := b.TempDir()
	var text strings.Builder
	text.WriteString(metaLine(stamp(forkTime), madeID(1), `,"base_instructions":{"text":"`+strings.Repeat("rule ", 2000)+`"}`))
	for n := range 3000 {
		when := stamp(forkTime.Add(time.Duration(n) * time.Second))
		text.WriteString(turnLine(when, turnOf(forkTime.Add(time.Duration(n)*time.Second))))
		text.WriteString(userText(when, "please look at the third file"))
		text.WriteString(line(when, "response_item", `{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c"}`))
		text.WriteString(line(when, "response_item", `{"type":"function_call_output","call_id":"c","output":"`+strings.Repeat("a line of output\\n", 120)+`"}`))
		text.WriteString(line(when, "response_item", `{"type":"reasoning","summary":[],"encrypted_content":"`+strings.Repeat("QUJD", 400)+`"}`))
		text.WriteString(line(when, "event_msg", `{"type":"token_count","info":{"total_token_usage":{"input_tokens":10275,"output_tokens":10}}}`))
		text.WriteString(agentText(when, "It is as you said."))
	}
	write(b, dir, madeName(1), text.String())
	d := driverOf(b, dir)
	tape := new(value.Tape)
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		snap, err := d.ReadSession(b.Context(), madeID(1), nil)
		if err != nil {
			b.Fatal(err)
		}
		for {
			tape.Reset()
			if _, err := snap.Next(tape); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
		if _, err := snap.Finish(); err != nil {
			b.Fatal(err)
		}
		snap.Close()
	}
}

func BenchmarkSummarize(b *testing.B) {
	dir := b.TempDir()
	write(b, dir, madeName(1), everything()+strings.Repeat(agentText(stamp(noon), strings.Repeat("x", 1000)), 2000))
	d := driverOf(b, dir)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Summarize(b.Context(), madeID(1)); err != nil {
			b.Fatal(err)
		}
	}
}
