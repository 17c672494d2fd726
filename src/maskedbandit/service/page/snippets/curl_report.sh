
# what became of her, once it is known
ask report "{\"ticket\": \"$ticket\", \"value\": {{value}}}"
