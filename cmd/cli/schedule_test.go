package cli

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// hard are words that a line of a timer must not change.
var hard = []string{"/home/dev/plain", "/home/dev/two words", `/home/dev/it's "100%" $HOME \n`, "/home/dev/ünï*?;&|<>#~"}

func hardSchedule(program string) schedule {
	s := schedule{program: program, args: append(slices.Clone(hard), "publish"), every: 10 * time.Minute}
	for i, word := range hard {
		s.variables = append(s.variables, [2]string{"TEST_" + string(rune('A'+i)), word})
	}
	return s
}

// TestALineOfCronRunsWhatItSays gives the line to a shell as cron does.
func TestALineOfCronRunsWhatItSays(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell here:", err)
	}
	program := filepath.Join(t.TempDir(), "show it's 100%")
	script := "#!" + shell + "\nprintf '%s\\n' \"$@\" \"$TEST_A\" \"$TEST_B\" \"$TEST_C\" \"$TEST_D\"\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	line := hardSchedule(program).cron()
	command, found := strings.CutPrefix(line, "*/10 * * * * ")
	if !found || strings.Count(line, "\n") != 1 {
		t.Fatalf("line %q", line)
	}
	if strings.Contains(strings.ReplaceAll(command, `\%`, ""), "%") {
		t.Errorf("a percent sign ends the command: %s", command)
	}
	out, err := exec.Command(shell, "-c", strings.ReplaceAll(command, `\%`, "%")).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(hard, []string{"publish"}, hard)
	if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestAUnitQuotesEveryWord(t *testing.T) {
	unit := hardSchedule("/home/dev/bin/agentsync").systemd()
	for _, want := range []string{
		`Environment="TEST_A=/home/dev/plain"` + "\n",
		`Environment="TEST_C=/home/dev/it's \"100%%\" $HOME \\n"` + "\n",
		`ExecStart="/home/dev/bin/agentsync" "/home/dev/plain" "/home/dev/two words" "/home/dev/it's \"100%%\" $$HOME \\n" `,
		"OnCalendar=*:0/10\n", "SuccessExitStatus=11\n",
	} {
		if !strings.Contains(unit, want) {
			t.Errorf("%s is not in\n%s", want, unit)
		}
	}
}

func TestAPropertyListSaysWhatItWasGiven(t *testing.T) {
	decoder := xml.NewDecoder(strings.NewReader(hardSchedule("/home/dev/bin/agentsync").launchd()))
	var got []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && (start.Name.Local == "string" || start.Name.Local == "integer") {
			var text string
			if err := decoder.DecodeElement(&text, &start); err != nil {
				t.Fatal(err)
			}
			got = append(got, text)
		}
	}
	want := slices.Concat([]string{"agentsync", "/home/dev/bin/agentsync"}, hard, []string{"publish"}, hard, []string{"600"})
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
