package codex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"agentsync/collect/stdio"
)

// maxMessage is the largest message taken from a socket, in bytes; the same as of a line.
const maxMessage = 64 << 20

// socket carries messages as WebSocket text frames over a child's standard streams: what
// the proxy of the app server passes on, it passes on as it is.
type socket struct {
	frames *websocket.Conn
	wire   *http.Transport
}

var _ stdio.Conn = (*socket)(nil)

// dial opens a WebSocket over the streams. The context bounds the opening alone.
func dial(ctx context.Context, streams io.ReadWriteCloser) (*socket, error) {
	once := make(chan net.Conn, 1)
	once <- streamConn{streams}
	wire := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		select {
		case c := <-once:
			return c, nil
		default:
			return nil, errors.New("the streams are in use")
		}
	}}
	frames, _, err := websocket.Dial(ctx, "ws://localhost/", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: wire}, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		wire.CloseIdleConnections()
		return nil, fmt.Errorf("open a WebSocket through the proxy: %w", err)
	}
	frames.SetReadLimit(maxMessage)
	return &socket{frames: frames, wire: wire}, nil
}

// Read returns the next message. It waits as long as the child runs.
func (s *socket) Read() ([]byte, error) {
	_, message, err := s.frames.Read(context.Background())
	if err != nil {
		return nil, fmt.Errorf("read from the proxy: %w", err)
	}
	return message, nil
}

// Write sends one message.
func (s *socket) Write(message []byte) error {
	if err := s.frames.Write(context.Background(), websocket.MessageText, message); err != nil {
		return fmt.Errorf("write to the proxy: %w", err)
	}
	return nil
}

// close drops the connection without a farewell: the proxy sees the end of its input.
func (s *socket) close() {
	_ = s.frames.CloseNow()
	s.wire.CloseIdleConnections()
}

// streamConn makes a network connection of a child's streams. It has no deadlines: the
// child is ended instead.
type streamConn struct{ io.ReadWriteCloser }

func (streamConn) LocalAddr() net.Addr              { return streamAddr{} }
func (streamConn) RemoteAddr() net.Addr             { return streamAddr{} }
func (streamConn) SetDeadline(time.Time) error      { return nil }
func (streamConn) SetReadDeadline(time.Time) error  { return nil }
func (streamConn) SetWriteDeadline(time.Time) error { return nil }

type streamAddr struct{}

func (streamAddr) Network() string { return "stdio" }
func (streamAddr) String() string  { return "stdio" }
