// Two libraries on a device without a browser: golang.org/x/oauth2, and that of GitHub's command line.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/cli/oauth/api"
	"github.com/cli/oauth/device"
	"golang.org/x/oauth2"
)

type job struct {
	DeviceURL   string `json:"device_authorization_endpoint"`
	TokenURL    string `json:"token_endpoint"`
	ResourceURL string `json:"resource_url"`
	ID          string `json:"client_id"`
	Secret      string `json:"client_secret"`
	Scope       string `json:"scope"`
	Interval    int    `json:"interval"`
}

type object map[string]any

// Prints the errors of the token endpoint.
type listening struct{}

func main() {
	var job job
	check(json.Unmarshal([]byte(os.Args[2]), &job))
	client := &http.Client{Transport: listening{}}
	var result object
	if os.Args[1] == "cli" {
		result = job.github(client)
	} else {
		result = job.golang(context.WithValue(context.Background(), oauth2.HTTPClient, client), os.Args[1])
	}
	say(object{"result": result})
}

func (job *job) golang(ctx context.Context, style string) object {
	endpoint := oauth2.Endpoint{DeviceAuthURL: job.DeviceURL, TokenURL: job.TokenURL}
	if style == "params" {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	config := oauth2.Config{
		ClientID:     job.ID,
		ClientSecret: job.Secret,
		Endpoint:     endpoint,
		Scopes:       strings.Fields(job.Scope),
	}
	var options []oauth2.AuthCodeOption
	if job.Secret != "" {
		// The library sends no secret here by itself.
		options = append(options, oauth2.SetAuthURLParam("client_secret", job.Secret))
	}
	asked, err := config.DeviceAuth(ctx, options...)
	check(err)
	say(object{"verification_uri": asked.VerificationURI, "user_code": asked.UserCode})
	if job.Interval > 0 {
		asked.Interval = int64(job.Interval)
	}
	first, err := config.DeviceAccessToken(ctx, asked)
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		return object{"error": refused.ErrorCode}
	}
	check(err)
	user := []string{job.read(config.Client(ctx, first))}
	second, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: first.RefreshToken}).Token()
	check(err)
	user = append(user, job.read(config.Client(ctx, second)))
	return object{"token_type": first.TokenType, "user": user, "is_new": first.AccessToken != second.AccessToken}
}

func (job *job) github(client *http.Client) object {
	asked, err := device.RequestCode(client, job.DeviceURL, job.ID, strings.Fields(job.Scope))
	check(err)
	say(object{"verification_uri": asked.VerificationURI, "user_code": asked.UserCode})
	if job.Interval > 0 {
		asked.Interval = job.Interval
	}
	options := device.WaitOptions{ClientID: job.ID, DeviceCode: asked}
	token, err := device.Wait(context.Background(), client, job.TokenURL, options)
	var refused *api.Error
	if errors.As(err, &refused) {
		return object{"error": refused.Code}
	}
	check(err)
	own := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token.Token})
	return object{
		"token_type": token.Type,
		"user":       []string{job.read(oauth2.NewClient(context.Background(), own))},
	}
}

// Reads the resource with a client that sends the token.
func (job *job) read(client *http.Client) string {
	answer, err := client.Get(job.ResourceURL)
	check(err)
	var me struct {
		User string `json:"user"`
	}
	check(json.NewDecoder(answer.Body).Decode(&me))
	return me.User
}

func (listening) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(body))
	var refused struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &refused) == nil && refused.Error != "" {
		say(object{"error": refused.Error})
	}
	return answer, nil
}

func say(line object) {
	text, err := json.Marshal(line)
	check(err)
	fmt.Println(string(text))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
