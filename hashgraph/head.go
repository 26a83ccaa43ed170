package hashgraph

// Head returns the first n messages. It shares memory with m and must not grow.
func (m *Messages) Head(n int) Messages {
	return Messages{m.values[:n:n], m.snapshot[:n:n], m.manifest[:n:n]}
}
