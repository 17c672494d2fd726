# frozen_string_literal: true

# What a client keeps on the disk, by docs/another_client.md: what waits, and the arms that people had.

require "digest"
require "fileutils"
require "json"
require "openssl"
require "securerandom"

module MaskedBandit
  TICKET = /\A[0-9a-z]{1,64}\z/

  # One file of JSON for a study of a service, which the processes of an application share.
  class Outbox
    NINETY_DAYS = 90 * 86_400

    def initialize(folder, url, study)
      @study = study
      FileUtils.mkdir_p(folder, mode: 0o700)
      (File.stat(folder).mode & 0o077).zero? or raise IOError, "others may look into the folder of the outbox"
      @path = File.join(folder, Digest::SHA256.hexdigest("#{url}\n#{study}")[0, 16])
      change { |state| state["secret"] ||= SecureRandom.hex(32) }
    end

    # A message is on disk when this returns, unless whoever has its ticket left.
    def put(message)
      change { |state| add(state, message) unless state["left"].include?(name(message["ticket"])) }
    end

    # The person leaves: what waits of the ticket is dropped, and the arm is forgotten.
    def put_leaving(ticket)
      change do |state|
        state["messages"].reject! { |message| message["ticket"] == ticket }
        state["arms"].delete_if { |_, arm| arm["ticket"] == ticket }
        state["left"] |= [name(ticket)]
        add(state, { "kind" => "leave", "ticket" => ticket })
      end
    end

    # The oldest messages, one of each ticket.
    def oldest(most)
      read["messages"].uniq { |message| message["ticket"] }.first(most)
    end

    # What the service is sent: the same whenever it is sent.
    def body_of(message)
      ticket, event, metric = message.values_at("ticket", "event", "metric")
      return { "ticket" => ticket } if message["kind"] == "expose"

      said = "#{@study}\n#{ticket}\n#{"#{metric}\n" if metric != ''}#{event}"
      proof = OpenSSL::HMAC.hexdigest("SHA256", [read["secret"]].pack("H*"), said)[0, 32]
      body = { "ticket" => ticket, "value" => message["value"], "event" => event, "proof" => proof }
      metric == "" ? body : body.merge("metric" => metric)
    end

    # These have their answer.
    def settle(messages)
      ids = messages.map { |message| message["id"] }
      change { |state| state["messages"].reject! { |message| ids.include?(message["id"]) } }
    end

    # The arm of a unit, of people whom the rules turn away (:default), or of others without a place (:everybody).
    def keep_arm(unit, arm)
      change { |state| state["arms"][key_of(unit)] = arm.merge("until" => Time.now.to_i + NINETY_DAYS) }
    end

    def find_arm(unit)
      found = read["arms"][key_of(unit)]
      found if found && found["until"] > Time.now.to_i
    end

    # From now on outcomes of this study stay on people's devices.
    def keep_on_devices
      change { |state| state["devices"] = true } unless devices?
    end

    def devices?
      read["devices"]
    end

    # What one process at a time does.
    def take_turn
      File.open("#{@path}.turn", File::RDWR | File::CREAT, 0o600) do |turn|
        turn.flock(File::LOCK_EX)
        yield
      end
    end

    private

    def key_of(unit)
      unit.is_a?(Symbol) ? unit.to_s : Digest::SHA256.hexdigest(unit)
    end

    def name(ticket)
      Digest::SHA256.hexdigest("#{@study}\n#{ticket}")
    end

    def add(state, message)
      state["messages"] << message.merge("id" => state["next"] += 1)
    end

    def read
      lock(File::LOCK_SH) { File.exist?(@path) ? JSON.parse(File.read(@path)) : empty }
    end

    def empty
      { "next" => 0, "messages" => [], "arms" => {}, "left" => [], "devices" => false }
    end

    # Written whole or not at all, and on disk when this returns; what was there before is overwritten.
    def change
      lock(File::LOCK_EX) do
        old = File.exist?(@path) ? File.open(@path, "r+b") : nil
        state = old ? JSON.parse(old.read) : empty
        yield state
        File.open("#{@path}.new", "wb", 0o600) { |file| file.write(state.to_json) && file.fsync }
        File.rename("#{@path}.new", @path)
        File.open(File.dirname(@path), &:fsync)
        wipe(old) if old
      ensure
        old&.close
      end
    end

    def wipe(file)
      file.rewind
      file.write(" " * file.size)
      file.fsync
    end

    def lock(how)
      File.open("#{@path}.lock", File::RDWR | File::CREAT, 0o600) do |held|
        held.flock(how)
        yield
      end
    end
  end
end
