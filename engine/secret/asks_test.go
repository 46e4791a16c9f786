package secret

import "testing"

func TestAsks(t *testing.T) {
	for _, text := range []string{"password", "Your GitHub token", "userPin", "PIN_CODE", "api-key", "The API key of the shop", "Enter pass phrase", "contraseña", "请输入密码", "CVV", "clientSecret", "pass_code"} {
		if !Asks(text) {
			t.Errorf("%q asks for nothing", text)
		}
	}
	for _, text := range []string{"", "town", "How many tokens may be spent?", "spinning", "secretary", "keyboard", "passenger", "opinion", "Shall I pass the key point on?"} {
		if Asks(text) {
			t.Errorf("%q asks for a secret", text)
		}
	}
}
