// Package stdio runs a provider's program as a child and speaks with it over its
// standard streams: lines, and JSON-RPC on top of them. It owns process groups, bounded
// buffers and the order of messages; it knows no provider, repeats nothing, and quotes
// neither lines nor messages in its errors.
package stdio

// Conn carries whole messages. A *Process is one, and so is a WebSocket.
type Conn interface {
	// Read returns the next message. It is called by one goroutine, and what it returns
	// may be overwritten by the next call.
	Read() ([]byte, error)
	// Write sends one message. Any goroutine may call it.
	Write(message []byte) error
}
