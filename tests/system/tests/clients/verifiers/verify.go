// golang-jwt with keyfunc, as APIs use them: keyfunc fetches and keeps the key set.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

type job struct {
	Issuer   string   `json:"issuer"`
	Audience string   `json:"audience"`
	Tokens   []string `json:"tokens"`
}

type verdict struct {
	Claims  jwt.MapClaims `json:"claims,omitempty"`
	Refused string        `json:"refused,omitempty"`
}

func main() {
	var job job
	check(json.Unmarshal([]byte(os.Args[1]), &job))
	answer, err := http.Get(job.Issuer + "/.well-known/oauth-authorization-server")
	check(err)
	var metadata struct {
		KeySet string `json:"jwks_uri"`
	}
	check(json.NewDecoder(answer.Body).Decode(&metadata))
	keys, err := keyfunc.NewDefaultOverrideCtx(
		context.Background(),
		[]string{metadata.KeySet},
		keyfunc.Override{RefreshInterval: 5 * time.Minute},
	)
	check(err)
	parser := jwt.NewParser(
		jwt.WithIssuer(job.Issuer),
		jwt.WithAudience(job.Audience),
		jwt.WithValidMethods([]string{"ES256", "RS256", "EdDSA"}),
		jwt.WithExpirationRequired(),
	)
	for _, text := range job.Tokens {
		var verdict verdict
		claims, err := verify(parser, keys, text)
		if err != nil {
			verdict.Refused = err.Error()
		} else {
			verdict.Claims = claims
		}
		line, err := json.Marshal(verdict)
		check(err)
		fmt.Println(string(line))
	}
}

func verify(parser *jwt.Parser, keys keyfunc.Keyfunc, text string) (jwt.MapClaims, error) {
	token, err := parser.Parse(text, keys.Keyfunc)
	if err != nil {
		return nil, err
	}
	// golang-jwt checks neither the type nor whether these claims are there.
	if token.Header["typ"] != "at+jwt" {
		return nil, fmt.Errorf("the token is of type %v", token.Header["typ"])
	}
	claims := token.Claims.(jwt.MapClaims)
	for _, name := range []string{"sub", "client_id", "iat", "jti"} {
		if _, ok := claims[name]; !ok {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	return claims, nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
