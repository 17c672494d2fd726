ask() {  # a request with a body of JSON
  curl -fsS "{{address}}$1" -d "$2" \
    -H "Authorization: Bearer $MASKEDBANDIT_KEY" -H "Content-Type: application/json"
}

# the flag of a person: {{seen}}
answer=$(ask /ofrep/v1/evaluate/flags/{{study}} "{\"context\": {\"targetingKey\": \"ann\"{{token}}{{context_attributes}}}}")
echo "$answer"
ticket=$(echo "$answer" | sed 's/.*"ticket":"\([^"]*\)".*/\1/')
