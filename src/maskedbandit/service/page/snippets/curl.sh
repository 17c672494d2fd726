ask() {  # a request about the study, with a body of JSON
  curl -fsS "{{address}}/v1/studies/{{study}}/$1" -d "$2" \
    -H "Authorization: Bearer $MASKEDBANDIT_KEY" -H "Content-Type: application/json"
}

# the arm of a person, the same one whenever she comes
answer=$(ask assign "{\"unit\": \"ann\"{{token}}{{shell_attributes}}}")
echo "$answer"
ticket=$(echo "$answer" | sed 's/.*"ticket":"\([^"]*\)".*/\1/')

# she sees it
ask expose "{\"ticket\": \"$ticket\"}"
