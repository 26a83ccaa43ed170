package ledger

import "testing"

func TestALoneSurrogateIsOneReplacement(t *testing.T) {
	for text, want := range map[string]string{
		`a\ud99cb`:       "a\uFFFDb",
		`\udc00\ud800`:   "\uFFFD\uFFFD",
		`\ud83d\ude00 x`: "\U0001F600 x",
		`plain \ufffd`:   "plain \uFFFD",
	} {
		if in, err := command(t, Prompt, `{"text":"`+text+`"}`).PromptInput(); err != nil || in.Text != want {
			t.Errorf("prompt %s: %q, %v", text, in.Text, err)
		}
		if in, err := command(t, Start, `{"text":"`+text+`","title":"`+text+`"}`).StartInput(); err != nil || in.Text != want || in.Title != want {
			t.Errorf("start %s: %+v, %v", text, in, err)
		}
		if title, err := command(t, Rename, `{"title":"`+text+`"}`).Title(); err != nil || title != want {
			t.Errorf("title %s: %q, %v", text, title, err)
		}
	}
}
