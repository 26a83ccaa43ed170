package value

// AppendString appends s, which is WTF-8, as canonical text writes a string.
func AppendString(dst []byte, s string) []byte {
	w := writer{dst: append(dst, '"')}
	w.escape([]byte(s))
	return append(w.dst, '"')
}
