
# what became of her, once it is known
ask /v1/studies/{{study}}/report "{\"ticket\": \"$ticket\", \"value\": {{value}}}"
