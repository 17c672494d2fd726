# frozen_string_literal: true

# The client as a program that plays scenarios, by docs/another_client.md: a step a line.

require_relative "masked_bandit_client"

def do_step(verb, given)
  case verb
  when "open" then ($client = MaskedBandit::Client.new(**given)) && nil
  when "assign" then $client.assign(*given.values_at(:unit, :token, :attributes)).to_h
  when "sign" then MaskedBandit.sign_person(*given.values_at(:private, :study, :unit, :expires))
  when "report" then $client.report(given.delete(:ticket), given.delete(:value), **given)
  when "flush", "close" then $client.public_send(verb, **given)
  when "refused" then $client.refused
  else $client.public_send(verb, given[:ticket])
  end
end

$stdout.sync = true
$stdin.each_line do |line|
  step = JSON.parse(line, symbolize_names: true)
  step[:attributes] &&= step[:attributes].transform_keys(&:to_s)
  given = do_step(step.delete(:do), step)
  puts({ gives: given.is_a?(Thread) ? nil : given }.to_json)
rescue MaskedBandit::Mistake => e
  puts({ error: e.code }.to_json)
end
