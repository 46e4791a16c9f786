package secret

import (
	"slices"
	"strings"
	"unicode"
)

// Asks reports whether a text, or the name of a field, speaks of what only its owner may know:
// passwords, keys, tokens, pins. It is for questions to persons; what it does not know it
// lets through.
func Asks(text string) bool {
	lower := strings.ToLower(text)
	squashed := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, lower)
	for _, part := range []string{
		"password", "passwd", "passphrase", "passcode", "apikey", "secretkey", "accesskey", "privatekey", "accesstoken", "authtoken", "credential", "securitycode", "verificationcode", "recoverycode",
		"passwort", "kennwort", "contraseña", "motdepasse", "пароль", "密码", "密碼", "口令", "密钥", "パスワード", "暗証番号", "비밀번호",
	} {
		if strings.Contains(squashed, part) {
			return true
		}
	}
	return slices.ContainsFunc(words(text), func(word string) bool {
		switch word {
		case "secret", "secrets", "token", "pin", "pwd", "otp", "cvv", "cvc", "totp":
			return true
		}
		return false
	})
}

// words are those of a text or of a name like apiKey or API_KEY, in lower case.
func words(text string) (list []string) {
	var word []rune
	end := func() {
		if len(word) > 0 {
			list = append(list, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	for _, r := range text {
		if !unicode.IsLetter(r) || unicode.IsUpper(r) && len(word) > 0 && unicode.IsLower(word[len(word)-1]) {
			end()
		}
		if unicode.IsLetter(r) {
			word = append(word, r)
		}
	}
	end()
	return list
}
