package gitinfo

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	helperForm = regexp.MustCompile(`^[^/]*?::`)
	driveForm  = regexp.MustCompile(`^[A-Za-z]:`)
	scpForm    = regexp.MustCompile(`^(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9._-]+):(.+)$`)
	schemeForm = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://`)
	numberForm = regexp.MustCompile(`^(?:[0-9]+|0[xX][0-9A-Fa-f]*)$`)
)

// schemes that are published, each with its default port. Only those with one are
// "special": their host is a domain, and a backslash in them separates like a slash.
var schemes = map[string]string{"http": "80", "https": "443", "git": "", "ssh": ""}

// PublishURL returns a remote's address as it may be published, and false when it
// must not be: local paths, drives, file addresses, remote helpers, and every scheme
// but git, http, https and ssh. An SCP-style address stays as Git spells it. Of
// others the user, password, query and fragment are dropped and the rest is rendered
// by the URL standard: lower-case http hosts, no default port, dot segments resolved.
//
// Also refused, because a password may hide in them: an address without host, an
// SCP-style one whose host is a scheme ("https:/user:pass@host/x") or whose path has
// an @ before its first slash ("user:pass@host:x"). So are http hosts that are not
// plain ASCII names or plain IP addresses.
func PublishURL(raw string) (string, bool) {
	trimmed := strings.TrimFunc(raw, func(r rune) bool { return r <= ' ' })
	if helperForm.MatchString(trimmed) || driveForm.MatchString(trimmed) {
		return "", false
	}
	if m := scpForm.FindStringSubmatch(raw); m != nil && !strings.HasPrefix(m[2], "//") {
		if publishableSCP(m[1], m[2]) {
			return raw, true
		}
		return "", false
	}
	return renderURL(strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(trimmed))
}

// publishableSCP refuses the host:path forms that are really something else.
func publishableSCP(host, path string) bool {
	switch strings.ToLower(host) {
	case "file", "ftp", "ftps", "http", "https", "ssh", "git":
		return false
	}
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, "@") && utf8.ValidString(path) &&
		!strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// renderURL parses and renders an absolute address by the URL standard.
func renderURL(text string) (string, bool) {
	m := schemeForm.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	scheme := strings.ToLower(m[1])
	defaultPort, known := schemes[scheme]
	if !known {
		return "", false
	}
	special := defaultPort != ""
	rest := text[len(m[0]):]
	if special {
		rest = strings.TrimLeft(rest, `/\`)
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	authority, path := splitAuthority(rest, special)
	host, port, ok := hostPort(authority, special)
	if !ok {
		return "", false
	}
	if port != "" && port != defaultPort {
		host += ":" + port
	}
	return scheme + "://" + host + renderPath(path, special), true
}

// splitAuthority cuts the user information off and the path away.
func splitAuthority(rest string, special bool) (authority, path string) {
	ends := "/"
	if special {
		ends = `/\`
	}
	authority = rest
	if i := strings.IndexAny(rest, ends); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	return authority[strings.LastIndexByte(authority, '@')+1:], path
}

// hostPort renders both halves of an authority without user information; the port
// is "" when absent.
func hostPort(authority string, special bool) (host, port string, ok bool) {
	host = authority
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		host, port = authority[:i], authority[i+1:]
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return "", "", false
		}
		port = strconv.FormatUint(n, 10)
	}
	switch {
	case strings.HasPrefix(host, "["):
		host, ok = renderIPv6(host)
	case special:
		host, ok = renderDomain(host)
	default:
		host, ok = renderOpaqueHost(host)
	}
	return host, port, ok
}

func renderIPv6(host string) (string, bool) {
	inner, closed := strings.CutSuffix(host[1:], "]")
	address, err := netip.ParseAddr(inner)
	if !closed || err != nil || !address.Is6() || address.Zone() != "" {
		return "", false
	}
	if address.Is4In6() {
		b := address.As16()
		return "[::ffff:" + strconv.FormatUint(uint64(b[12])<<8|uint64(b[13]), 16) + ":" +
			strconv.FormatUint(uint64(b[14])<<8|uint64(b[15]), 16) + "]", true
	}
	return "[" + address.String() + "]", true
}

// renderDomain lower-cases an ASCII host name. A last label that is a number makes
// the host an IPv4 address, of which only the plain form is taken.
func renderDomain(host string) (string, bool) {
	if host == "" || strings.ContainsFunc(host, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune("#%/:<>?@[\\]^|", r)
	}) {
		return "", false
	}
	host = strings.ToLower(host)
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	if !numberForm.MatchString(labels[len(labels)-1]) {
		return host, true
	}
	address, err := netip.ParseAddr(strings.TrimSuffix(host, "."))
	if err != nil {
		return "", false
	}
	return address.String(), true
}

// renderOpaqueHost keeps the spelling of a host whose scheme gives it no meaning.
func renderOpaqueHost(host string) (string, bool) {
	if host == "" || strings.ContainsAny(host, "\x00 #/<>?@[\\]^|:") {
		return "", false
	}
	return percentEncode(host, ""), true
}

// renderPath resolves dot segments and encodes what a path may not hold. Only a
// special address has a path where none was written.
func renderPath(path string, special bool) string {
	if special {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	if path == "" {
		if special {
			return "/"
		}
		return ""
	}
	var kept []string
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case "..":
			kept = kept[:max(len(kept)-1, 0)]
		case ".":
		default:
			kept = append(kept, percentEncode(segment, " \"#<>?`{}"))
			continue
		}
		if last {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}

// percentEncode encodes control characters, everything beyond ASCII, and extra.
func percentEncode(text, extra string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c > 0x1f && c < 0x7f && strings.IndexByte(extra, c) < 0 {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return b.String()
}
