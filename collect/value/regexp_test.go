package value

import "testing"

func TestRegularExpressionsAreThoseOfTheLanguage(t *testing.T) {
	good := [][2]string{
		{"", ""}, {"abc", "gi"}, {"a+", "g"}, {"^x$", ""}, {"(?:a|b)*?c{2,3}", "dgimsuy"}, {"[a-z\\d_-]", ""}, {"\\bfoo\\B", "u"},
		{"(a)(b)\\2", "u"}, {"\\9", ""}, {"(?<n>a)\\k<n>", ""}, {"(?<n>a)|(?<n>b)", ""}, {"\\k", ""}, {"a{", ""}, {"a{,2}", ""}, {"]", ""},
		{"(?=a)*", ""}, {"\\p{L}\\P{Script=Greek}", "u"}, {"\\u{1F600}", "u"}, {"\\u{1F600}", ""}, {"[\\w-a]", ""}, {"\\c", ""}, {"[\\b]", "u"},
		{"(?i:a)(?-s:b)(?m-i:c)", ""}, {"[[a-z]--[aeiou]]", "v"}, {"\\ud83d\\ude00", "u"}, {"\\x4", ""}, {"[^]", ""}, {"[]", ""}, {"\\/", "u"},
		{"(?<\\u0061b>x)", ""}, {"a{2,10}", ""}, {"\\012[\\012\\8]", ""},
	}
	for _, c := range good {
		if err := checkRegExp(c[0], c[1]); err != nil {
			t.Errorf("/%s/%s is refused", c[0], c[1])
		}
	}
	bad := [][2]string{
		{"(", ""}, {")", ""}, {"a**", ""}, {"*", ""}, {"[", ""}, {"[b-a]", ""}, {"\\", ""}, {"a{2,1}", ""}, {"{2}", ""}, {"(?<n>a)(?<n>b)", ""},
		{"(?<n>a)\\k<m>", ""}, {"(?<n>a)\\k", ""}, {"(?<1>a)", ""}, {"\\2(a)", "u"}, {"a{", "u"}, {"]", "u"}, {"(?=a)*", "u"}, {"(?<=a)*", ""},
		{"\\p{L", "u"}, {"\\u{110000}", "u"}, {"[\\w-a]", "u"}, {"\\c", "u"}, {"(?ii:a)", ""}, {"(?-:a)", ""}, {"(?x:a)", ""}, {"a", "gg"}, {"a", "x"}, {"a", "uv"},
		{"[(]", "v"}, {"\\x4", "u"}, {"\\-", "u"}, {"\\01", "u"}, {"a|*", ""}, {"(?<\\u002d>x)", ""},
	}
	for _, c := range bad {
		if err := checkRegExp(c[0], c[1]); err == nil {
			t.Errorf("/%s/%s is accepted", c[0], c[1])
		}
	}
}

func FuzzRegExp(f *testing.F) {
	f.Add(`(?<n>a{2,}|[^\]-\x41])\k<n>\u{1F600}(?i-s:\cA\0)`, "u")
	f.Add(`[[a-z]&&\q{ab|c}--\p{L}]`, "v")
	f.Add(`\8\12(?<=x)]{,`, "")
	f.Fuzz(func(t *testing.T, source, flags string) {
		if checkRegExp(source, flags) == nil && checkRegExp("(?:"+source+")", flags) != nil {
			t.Errorf("/%s/%s is accepted, but not in a group", source, flags)
		}
	})
}
