package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// connect starts a role and speaks with it. The peer is over when the test is.
func connect(t testing.TB, h Handler, role ...string) (*Peer, *Process) {
	t.Helper()
	p := start(t, child(t, role...))
	peer := NewPeer(p, false, h)
	t.Cleanup(func() {
		p.Stop(0)
		<-peer.Done()
	})
	return peer, p
}

func TestAnswersReachTheCallsTheyAreFor(t *testing.T) {
	peer, _ := connect(t, Handler{}, "rpc")
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			result, err := peer.Call(t.Context(), "echo", i)
			var got int
			if err != nil || json.Unmarshal(result, &got) != nil || got != i {
				t.Errorf("%d: answered %s, %v", i, result, err)
			}
		})
	}
	all.Wait()
	if strays := peer.Strays(); strays != 0 {
		t.Errorf("%d strays", strays)
	}
}

func TestAnErrorAnswerIsHandedOutAndNotQuoted(t *testing.T) {
	peer, _ := connect(t, Handler{}, "rpc")
	_, err := peer.Call(t.Context(), "fail", nil)
	var answered *RPCError
	if !errors.As(err, &answered) || answered.Code != -32000 || answered.Message != "private words" || string(answered.Data) != `{"a":1}` {
		t.Fatalf("%v", err)
	}
	if strings.Contains(err.Error(), "private") {
		t.Errorf("the error quotes what the other side said: %v", err)
	}
}

func TestTheStandardsMemberIsWrittenWhenAskedFor(t *testing.T) {
	for _, jsonrpc := range []bool{true, false} {
		p := start(t, child(t, "rpc"))
		peer := NewPeer(p, jsonrpc, Handler{})
		want := map[bool]string{true: `{"jsonrpc":"2.0"}`, false: `{"jsonrpc":""}`}[jsonrpc]
		if result, err := peer.Call(t.Context(), "form", nil); err != nil || string(result) != want {
			t.Errorf("%v: %s, %v", jsonrpc, result, err)
		}
		p.Stop(0)
		<-peer.Done()
	}
}

func TestASecondAnswerIsAStray(t *testing.T) {
	peer, _ := connect(t, Handler{}, "rpc")
	if result, err := peer.Call(t.Context(), "twice", nil); err != nil || string(result) != "1" {
		t.Errorf("%s, %v", result, err)
	}
	if _, err := peer.Call(t.Context(), "echo", 0); err != nil {
		t.Error(err)
	}
	if strays := peer.Strays(); strays != 1 {
		t.Errorf("%d strays", strays)
	}
}

func TestWhatIsNoMessageIsCountedAndIgnored(t *testing.T) {
	peer, _ := connect(t, Handler{}, "rpc")
	if result, err := peer.Call(t.Context(), "strange", nil); err != nil || string(result) != `"strange"` {
		t.Errorf("%s, %v", result, err)
	}
	if strays := peer.Strays(); strays != 6 {
		t.Errorf("%d strays", strays)
	}
}

func TestAMessageThatCannotBeReadEndsTheConnection(t *testing.T) {
	peer, _ := connect(t, Handler{}, "rpc")
	_, err := peer.Call(t.Context(), "broken", nil)
	if !errors.Is(err, ErrClosed) || errors.Is(err, ErrNotSent) {
		t.Errorf("%v", err)
	}
}

func TestAnAnswerThatBreaksOffFailsTheCall(t *testing.T) {
	peer, _ := connect(t, Handler{}, "rpc")
	_, err := peer.Call(t.Context(), "exit", nil)
	if !errors.Is(err, ErrClosed) || !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrNotSent) {
		t.Errorf("%v", err)
	}
	<-peer.Done()
	if !errors.Is(peer.Err(), io.ErrUnexpectedEOF) {
		t.Errorf("ended with %v", peer.Err())
	}
	if _, err := peer.Call(t.Context(), "echo", 1); !errors.Is(err, ErrClosed) || !errors.Is(err, ErrNotSent) {
		t.Errorf("after the end: %v", err)
	}
	if err := peer.Notify("echo", 1); !errors.Is(err, ErrNotSent) {
		t.Errorf("after the end: %v", err)
	}
}

func TestTheEndFailsEveryCallThatWaits(t *testing.T) {
	peer, p := connect(t, Handler{}, "rpc")
	failed := make(chan error, 10)
	for range cap(failed) {
		go func() {
			_, err := peer.Call(t.Context(), "never", nil)
			failed <- err
		}()
	}
	if _, err := peer.Call(t.Context(), "echo", 1); err != nil {
		t.Fatal(err)
	}
	p.Stop(0)
	for range cap(failed) {
		if err := <-failed; !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
	}
}

func TestACallWhoseContextEndsIsForgotten(t *testing.T) {
	peer, _ := connect(t, Handler{}, "rpc")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := peer.Call(ctx, "never", nil); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNotSent) {
		t.Errorf("%v", err)
	}
	if _, err := peer.Call(ctx, "echo", 1); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNotSent) {
		t.Errorf("with a context that has ended: %v", err)
	}
	if _, err := peer.Call(t.Context(), "echo", 1); err != nil || len(peer.pending) != 0 {
		t.Errorf("%d calls wait, %v", len(peer.pending), err)
	}
}

// deafConn takes no message until it is closed.
type deafConn struct{ writing, closed chan struct{} }

func (c deafConn) Read() ([]byte, error) {
	<-c.closed
	return nil, io.EOF
}

func (c deafConn) Write([]byte) error {
	c.writing <- struct{}{}
	<-c.closed
	return io.ErrClosedPipe
}

func TestACallThatCannotBeWrittenEndsWithItsContext(t *testing.T) {
	conn := deafConn{make(chan struct{}, 3), make(chan struct{})}
	peer := NewPeer(conn, true, Handler{})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := peer.Call(ctx, "first", nil)
		failed <- err
	}()
	<-conn.writing
	short, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, err := peer.Call(short, "second", nil); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNotSent) {
		t.Errorf("behind a call that is being written: %v", err)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) || errors.Is(err, ErrNotSent) {
		t.Errorf("while it is being written: %v", err)
	}
	go func() { failed <- peer.Notify("third", nil) }()
	close(conn.closed)
	if err := <-failed; !errors.Is(err, ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("at the end: %v", err)
	}
	<-peer.Done()
}

func TestARequestOfTheOtherSideIsOneEvenWithOurId(t *testing.T) {
	asked := ""
	peer, _ := connect(t, Handler{Request: func(method string, params json.RawMessage) (any, *RPCError) {
		asked = method + string(params)
		return map[string]string{"decision": "decline"}, nil
	}}, "rpc")
	result, err := peer.Call(t.Context(), "ask", nil)
	if err != nil || string(result) != `{"id":1,"result":{"decision":"decline"}}` || asked != `approve{"n":1}` {
		t.Errorf("asked %q, answered %s, %v", asked, result, err)
	}
	for name, h := range map[string]Handler{
		`{"id":1,"error":{"code":-32601,"message":"method not found"}}`: {},
		`{"id":1,"result":null}`: {Request: func(string, json.RawMessage) (any, *RPCError) { return nil, nil }},
		`{"id":1,"error":{"code":-32603,"message":"the answer is no JSON"}}`: {
			Request: func(string, json.RawMessage) (any, *RPCError) { return func() {}, nil }},
	} {
		peer, _ := connect(t, h, "rpc")
		if result, err := peer.Call(t.Context(), "ask", nil); err != nil || string(result) != name {
			t.Errorf("the other side got %s, %v", result, err)
		}
	}
}

func TestNotificationsComeInOrderAndBeforeTheAnswer(t *testing.T) {
	var got []int
	peer, _ := connect(t, Handler{Notification: func(_ string, params json.RawMessage) {
		var n int
		if err := json.Unmarshal(params, &n); err != nil {
			t.Error(err)
		}
		got = append(got, n)
	}}, "rpc")
	if _, err := peer.Call(t.Context(), "count", nil); err != nil {
		t.Fatal(err)
	}
	for i, n := range got {
		if n != i {
			t.Fatalf("notification %d came as number %d", n, i)
		}
	}
	if len(got) != 1000 {
		t.Errorf("%d notifications", len(got))
	}
}

func TestAFloodIsHeldBackByItsReader(t *testing.T) {
	const flood = 100_000
	release, seen := make(chan struct{}), 0
	peer, p := connect(t, Handler{Notification: func(string, json.RawMessage) {
		if seen == 0 {
			<-release
		}
		seen++
	}}, "flood", "100000")
	var before, held, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	answered := make(chan error, 1)
	go func() {
		_, err := peer.Call(t.Context(), "echo", "after the flood")
		answered <- err
	}()
	time.Sleep(50 * time.Millisecond) // the child fills its pipe and waits
	runtime.ReadMemStats(&held)
	if held.HeapAlloc > before.HeapAlloc+1<<20 {
		t.Errorf("%d KiB are held while nobody takes a notification", (held.HeapAlloc-before.HeapAlloc)>>10)
	}
	close(release)
	if err := <-answered; err != nil || seen != flood {
		t.Errorf("%d notifications, %v", seen, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("%d notifications: %d KiB of heap more than before, a line buffer of %d KiB",
		seen, (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>10, len(p.lines.buffer)>>10)
	if after.HeapAlloc > before.HeapAlloc+1<<20 || len(p.lines.buffer) > firstFill {
		t.Error("a flood leaves memory behind")
	}
}

func TestNothingOfAPeerRunsAfterDone(t *testing.T) {
	before := runtime.NumGoroutine()
	p := start(t, child(t, "rpc"))
	peer := NewPeer(p, false, Handler{})
	if _, err := peer.Call(t.Context(), "echo", 1); err != nil {
		t.Fatal(err)
	}
	if peer.Err() != nil {
		t.Errorf("ended: %v", peer.Err())
	}
	if err := p.CloseInput(); err != nil {
		t.Error(err)
	}
	<-peer.Done()
	<-p.Done()
	if !errors.Is(peer.Err(), io.EOF) {
		t.Errorf("ended with %v", peer.Err())
	}
	noneLeft(t, before)
}

// tape is a side that sends one message again and again.
type tape struct {
	message []byte
	left    int
}

func (c *tape) Read() ([]byte, error) {
	if c.left == 0 {
		return nil, io.EOF
	}
	c.left--
	return c.message, nil
}

func (c *tape) Write([]byte) error { return nil }

func BenchmarkNotification(b *testing.B) {
	for name, size := range map[string]int{"of 100 bytes": 100, "of 1 MiB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			message := []byte(`{"method":"item/delta","params":{"text":"` + strings.Repeat("w", size) + `"}}`)
			seen := 0
			b.ReportAllocs()
			b.SetBytes(int64(len(message)))
			peer := NewPeer(&tape{message, b.N}, false, Handler{Notification: func(string, json.RawMessage) { seen++ }})
			<-peer.Done()
			if seen != b.N {
				b.Errorf("%d of %d", seen, b.N)
			}
		})
	}
}

func BenchmarkThousandNotificationsOfAChild(b *testing.B) {
	seen := make(chan struct{}, 1)
	peer, _ := connect(b, Handler{Notification: func(string, json.RawMessage) {
		select {
		case seen <- struct{}{}:
		default:
		}
	}}, "rpc")
	b.ReportAllocs()
	for b.Loop() { // each brings a thousand
		if _, err := peer.Call(b.Context(), "count", nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(1001*b.N)/b.Elapsed().Seconds(), "messages/s")
}

func BenchmarkCalls(b *testing.B) {
	peer, _ := connect(b, Handler{}, "rpc")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := peer.Call(b.Context(), "echo", 1); err != nil {
			b.Fatal(err)
		}
	}
}
