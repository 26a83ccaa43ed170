// Package stdio runs a provider's program as a child and speaks with it over its
// standard streams: lines, and JSON-RPC on top of them. It owns process groups, bounded
// buffers and the order of messages; it knows no provider.
package stdio
