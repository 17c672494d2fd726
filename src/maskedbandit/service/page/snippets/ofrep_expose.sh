
# she sees the arm
ask /v1/studies/{{study}}/expose "{\"ticket\": \"$ticket\"}"
