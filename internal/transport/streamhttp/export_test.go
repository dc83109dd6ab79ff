package streamhttp

var Encode = encode
