package value

// AppendString appends s, which is WTF-8, as canonical text writes a string.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	w := writer{dst: append(dst, '"')}
	w.escape([]byte(s))
	return append(w.dst, '"')
}
