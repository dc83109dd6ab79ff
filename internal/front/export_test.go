package front

// Patient is patient.
var Patient = patient
